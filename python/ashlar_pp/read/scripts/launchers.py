"""Takes a launcher's own words off a command: torchrun, deepspeed, accelerate, ray."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..run_file import Unreadable
from ..values import found, read_file
from .recorder import is_python, is_started
from .recording import Command


@dataclass(frozen=True)
class Training:
    """A program that trains, with its arguments.

    `program` is a file, or a module where `is_module`; a launcher that is the program
    itself, such as `axolotl`, has its own name. `nodes` and `devices` of a node are 0
    where nothing says them.
    """

    program: str
    arguments: tuple[str, ...]
    command: Command
    is_module: bool = False
    nodes: int = 0
    devices: int = 0
    launcher: str = ""
    launcher_options: tuple[tuple[str, str], ...] = ()
    model: str = ""  # that the user says, in place of what the arguments say

    @property
    def name(self) -> str:
        return self.program if self.is_module else os.path.basename(self.program)


# Options of launchers that stand alone; each other one has a value.
_ALONE = {
    "torchrun": "standalone no-python run-path virtual-local-rank",
    "colossalai": "",
    "deepspeed": "no_python no_local_rank force_multi bind_cores_to_rank "
    "elastic_training no_ssh no_ssh_check",
    "accelerate": "multi_gpu cpu tpu ipex use_xpu use_deepspeed use_fsdp "
    "use_megatron_lm use_parallelism_config quiet debug no_python same_network "
    "dynamo_use_fullgraph dynamo_use_dynamic enable_cpu_affinity downcast_bf16",
    "composer": "v verbose",
}


def trainings_of(commands: Sequence[Command]) -> list[Training]:
    """The programs that the commands train with, each once."""
    made: list[Training] = []
    for command in commands:
        one = _handed_on(_training(command))
        same = [(each.program, each.arguments) for each in made]
        if one is not None and (one.program, one.arguments) not in same:
            made.append(one)
    return made


def _handed_on(one: Training | None) -> Training | None:
    """The last command of those that stand behind --: `submit.py ... -- torchrun ...`.

    Where a program starts a command for others, it hands its words on as they are.
    """
    if one is None or "--" not in one.arguments or one.is_module:
        return one
    words = list(one.arguments)
    inner = words[len(words) - words[::-1].index("--") :]
    at = [i for i, word in enumerate(inner) if is_started(os.path.basename(word))]
    if not at:  # `uv run program.py`
        at = [i for i, word in enumerate(inner) if word.endswith(".py")]
        if not at:
            return one
        inner.insert(at[0], "python")
    outer = (*one.command.within, (one.program, *one.arguments))
    last = Command(
        tuple(inner[at[0] :]), one.command.folder, one.command.environment, outer
    )
    made = _training(last)
    nodes = _number(re.sub(r".*--num_nodes[ =](\d+).*|.*", r"\1", " ".join(outer[-1])))
    if made and one.name == "mason.py" and made.launcher == "accelerate" and nodes:
        # Ai2's jobs: processes that are said are those of a node.
        made = dataclasses.replace(made, nodes=nodes)
    return made or one


def _training(command: Command) -> Training | None:
    name = os.path.basename(command.words[0])
    rest = list(command.words[1:])
    if is_python(name):
        return _of_python(command, rest)
    if name == "torchrun":
        return _launched("torchrun", command, rest)
    if name in ("deepspeed", "composer"):
        return _launched(name, command, rest)
    if name == "accelerate":
        return _launched(name, command, rest[1:]) if rest[:1] == ["launch"] else None
    if name == "colossalai":
        return _launched(name, command, rest[1:]) if rest[:1] == ["run"] else None
    if name == "tune":
        return _tuned(command, rest[1:]) if rest[:1] == ["run"] else None
    if name == "oumi":
        return _of_oumi(command, rest)
    if name == "xtuner":
        return _of_xtuner(command, rest)
    if name == "ray":
        if rest[:2] != ["job", "submit"] or "--" not in rest:
            return None
        inner = rest[rest.index("--") + 1 :]
        outer = (*command.within, tuple(command.words[: len(rest) - len(inner) + 1]))
        return _training(
            Command(tuple(inner), command.folder, command.environment, outer)
        )
    return Training(name, tuple(rest), command, launcher=name)


def _of_python(command: Command, rest: list[str]) -> Training | None:
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c"):
        rest = rest[2:] if rest[0] in ("-X", "-W") else rest[1:]
    if not rest:
        return None
    if rest[0] != "-m":
        nodes, devices = _ranks_around(command)
        return Training(rest[0], tuple(rest[1:]), command, False, nodes, devices)
    module, arguments = (rest[1] if len(rest) > 1 else ""), rest[2:]
    if module in ("torch.distributed.run", "torch.distributed.launch"):
        return _launched("torchrun", command, arguments)
    if module == "accelerate.commands.launch":
        return _launched("accelerate", command, arguments)
    if module in ("deepspeed.launcher.runner", "deepspeed"):
        return _launched("deepspeed", command, arguments)
    nodes, devices = _ranks_around(command)
    return Training(module, tuple(arguments), command, True, nodes, devices)


def _launched(launcher: str, command: Command, words: list[str]) -> Training | None:
    alone = _ALONE[launcher].replace("-", "_").split()
    options: dict[str, str] = {}
    is_module = False
    while words and words[0].startswith("-"):
        name, equals, value = words[0].lstrip("-").replace("-", "_", 20).partition("=")
        if equals:
            value = words[0].partition("=")[2]
        words = words[1:]
        if name in ("m", "module", "module_mode"):
            is_module = True
            if equals:
                words = [value, *words]
            continue
        # A variable that is empty leaves no value.
        is_there = words and not words[0].startswith("--") and words[0][-3:] != ".py"
        if not equals and name not in alone and is_there:
            value, words = words[0], words[1:]
        options[name] = value
    if not words:
        return None
    if os.path.basename(words[0]) == "python" or is_python(os.path.basename(words[0])):
        words = words[1:]
    nodes, devices = _ranks(launcher, options, command)
    given = tuple(options.items())
    return Training(
        words[0], tuple(words[1:]), command, is_module, nodes, devices, launcher, given
    )


def _of_oumi(command: Command, words: list[str]) -> Training | None:
    """`oumi distributed` starts a launcher on all devices that the job has."""
    if words[:1] == ["distributed"] and len(words) > 1 and words[1] in _ALONE:
        rest = words[3:] if words[2:3] == ["launch"] else words[2:]
        one = _launched(words[1], command, rest)
        nodes, devices = _ranks_around(command)
        return one and dataclasses.replace(one, nodes=nodes, devices=devices)
    if words[:1] != ["train"] and words[:2] != ["launch", "up"]:
        return None
    ranks = 1 if words[:1] == ["train"] else 0
    return Training("oumi", tuple(words), command, False, ranks, ranks, "oumi")


def _of_xtuner(command: Command, words: list[str]) -> Training:
    """It starts torchrun by what the environment says, or is started by Slurm
    (xtuner/entry_point.py)."""
    said = command.environment
    nodes, devices = (
        _number(said.get("NNODES", "1")),
        _number(said.get("NPROC_PER_NODE", "1")),
    )
    if "slurm" in words:
        nodes, devices = _ranks_around(command)
    return Training("xtuner", tuple(words), command, False, nodes, devices, "xtuner")


def _tuned(command: Command, words: list[str]) -> Training | None:
    """torchtune starts one process, or torchrun's by its words."""
    one = _launched("torchrun", command, words)
    if one is None:
        return None
    says_devices = any(name == "nproc_per_node" for name, _ in one.launcher_options)
    devices = one.devices if says_devices else 1
    return dataclasses.replace(one, launcher="tune", devices=devices)


def _number(text: str | None) -> int:
    """The last number of 4, 1:4 or the like; 0: none."""
    found = re.findall(r"\d+", text or "")
    return int(found[-1]) if found else 0


def _ranks(
    launcher: str, options: Mapping[str, str], command: Command
) -> tuple[int, int]:
    around = _ranks_around(command)
    if launcher == "torchrun":
        return _number(options.get("nnodes", "1")), _number(
            options.get("nproc_per_node")
        )
    if launcher == "colossalai":
        nodes = _number(options.get("num_nodes")) or around[0]
        is_one = not {"hostfile", "host", "H"} & set(options)
        return nodes or int(is_one), _number(options.get("nproc_per_node"))
    if launcher == "deepspeed":
        devices = _number(options.get("num_gpus"))
        include = options.get("include", options.get("i", ""))
        if not devices and include:
            hosts = include.split("@")
            devices = len(hosts[0].split(":")[-1].split(","))
            return _number(options.get("num_nodes")) or len(hosts), devices
        # Without these words it takes what the script leaves visible.
        devices = devices or around[1] or _visible(command)
        return _number(options.get("num_nodes")) or around[0], devices
    if launcher == "composer":
        devices = _number(options.get("nproc", options.get("n"))) or around[1]
        ranks = _number(options.get("world_size"))
        return (ranks // devices if ranks and devices else around[0]), devices
    said = {**_accelerates(options, command), **options}
    nodes = _number(str(said.get("num_machines"))) or 1
    return nodes, _number(str(said.get("num_processes"))) // nodes or around[1]


def _accelerates(options: Mapping[str, str], command: Command) -> Mapping[str, Any]:
    """What accelerate's own file says, where it is here."""
    try:
        path = found(options.get("config_file", ""), pathlib.Path(command.folder))
        tree = read_file(path)
    except Unreadable:
        return {}
    return tree if isinstance(tree, Mapping) else {}


def _visible(command: Command) -> int:
    """Devices that CUDA_VISIBLE_DEVICES names; 0 where the script does not set it."""
    said = command.environment.get("CUDA_VISIBLE_DEVICES", "")
    return len(said.split(",")) if re.fullmatch(r"\d+(,\d+)*", said) else 0


def _ranks_around(command: Command) -> tuple[int, int]:
    """Nodes and devices of a node by what stands around: srun, mpirun."""
    nodes = devices = 0
    for outer in command.within:
        words = " ".join(outer)
        name = os.path.basename(outer[0])
        if name == "srun":
            found = re.search(r"(?:--nodes[= ]|-N ?)(\d+)", words)
            each = re.search(r"--(?:ntasks-per-node|gpus-per-node)[= ](\d+)", words)
            nodes = int(found[1]) if found else nodes
            devices = int(each[1]) if each else devices
        if name in ("mpirun", "mpiexec", "orterun"):
            found = re.search(r"(?:^| )-(?:np|n|c) (\d+)", words)
            nodes, devices = (1, int(found[1])) if found else (nodes, devices)
    said = command.environment
    nodes = nodes or _number(said.get("SLURM_NNODES"))
    return nodes, devices or _number(said.get("SLURM_NTASKS_PER_NODE"))
