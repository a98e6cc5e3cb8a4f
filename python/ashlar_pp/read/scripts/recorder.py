"""Stands in the place of a command: writes down how it was called.

It runs in a bare interpreter, without the rest of the package, once for each command
that a launch script calls: `recorder.py NAME ARGUMENT ...`. The folder of
`ASHLAR_READ_FOLDER` takes what is written. Commands that run others (srun, mpirun,
docker) run these, which are recorders again. Nothing else runs.
"""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time

# The commands that train, or start what trains.
TRAINERS = frozenset(
    "torchrun deepspeed accelerate ray colossalai nemo nemorun llamafactory-cli "
    "axolotl swift megatron tune oumi xtuner automodel litgpt composer horovodrun "
    "torchx".split()
)
# The commands that run another command, which stands among their words.
WRAPPERS = frozenset(
    "srun mpirun mpiexec orterun prun jsrun flux nohup numactl taskset nsys ncu nvprof "
    "rocprof singularity apptainer docker podman enroot shifter sudo uv conda mamba "
    "poetry pipenv timeout nice stdbuf setsid time env xargs unbuffer gantry".split()
)
REMOTE = frozenset({"ssh", "pdsh", "clush"})
BATCH = frozenset({"sbatch", "qsub", "bsub", "salloc"})
SHELLS = frozenset({"bash", "sh", "dash", "zsh"})
ANSWERED = frozenset(
    {"nvidia-smi", "rocm-smi", "scontrol", "hostname", "nproc", "ds_ssh"}
)
SILENT = frozenset({"sleep", "wait", "clear", "reset"})
MOST_RECORDS = 400
# Options of `uv run` with a word behind.
_UV_WITH_VALUES = frozenset(
    "--extra --no-extra --group --no-group --only-group --env-file --with --package "
    "--with-editable --with-requirements --python -p --index --default-index "
    "--index-url -i --extra-index-url --find-links -f --directory --project "
    "--config-file --cache-dir --link-mode --index-strategy --prerelease".split()
)

_PYTHON = re.compile(r"python[0-9.]*$")


def is_python(name: str) -> bool:
    return _PYTHON.match(name) is not None


def is_started(name: str) -> bool:
    """Whether a wrapper's word with this name is the command that it runs."""
    return name in TRAINERS or name in SHELLS or is_python(name)


def known() -> list[str]:
    """The names that recorders have."""
    every = TRAINERS | WRAPPERS | REMOTE | BATCH | SHELLS | ANSWERED | SILENT
    return sorted(every | {"python", "python3", "python2"})


def write(kind: str, words: list[str], **more: object) -> None:
    folder = os.environ["ASHLAR_READ_FOLDER"]
    with open(os.path.join(folder, "start.json"), encoding="utf-8") as file:
        start = json.load(file)
    changed = {k: v for k, v in os.environ.items() if start["environment"].get(k) != v}
    name = f"{time.monotonic_ns():020d}-{os.getpid()}.json"
    if len(os.listdir(os.path.join(folder, "records"))) >= MOST_RECORDS:
        # A script that starts its training again and again has said enough.
        os.kill(os.getsid(0), signal.SIGTERM)
        sys.exit(1)
    record = {
        "kind": kind,
        "words": words,
        "folder": os.getcwd(),
        "environment": changed,
        "within": json.loads(os.environ.get("ASHLAR_READ_WITHIN", "[]")),
        "is_captured": is_captured(),
        **more,
    }
    with open(os.path.join(folder, "records", name), "w", encoding="utf-8") as file:
        json.dump(record, file)


def is_captured() -> bool:
    """Whether the script takes what the command prints, as in $(...)."""
    return is_pipe(1)


def is_pipe(number: int) -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(number).st_mode)
    except OSError:
        return False


def run_within(words: list[str], inner: list[str]) -> None:
    """Goes on as the command that a wrapper starts."""
    within = json.loads(os.environ.get("ASHLAR_READ_WITHIN", "[]"))
    outer = words[: max(1, len(words) - len(inner))]
    os.environ["ASHLAR_READ_WITHIN"] = json.dumps([*within, outer])
    name = os.path.basename(inner[0])
    if name in WRAPPERS or name in REMOTE or is_started(name):
        play(name, inner)
    else:  # a script
        os.execvp("bash", ["bash", *inner])


def without_options(words: list[str]) -> list[str]:
    """What `uv run` starts: names of extras and the like are no commands."""
    while words and words[0].startswith("-") and words[0] not in ("-m", "--module"):
        words = words[2:] if words[0] in _UV_WITH_VALUES else words[1:]
    return words


def wrap(words: list[str]) -> None:
    if os.path.basename(words[0]) == "gantry" and "--" in words[:-1]:
        # Ai2's jobs: only what stands behind -- is the job's own command.
        return run_within(words, words[words.index("--") + 1 :])
    if os.path.basename(words[0]) == "uv" and words[1:2] == ["run"]:
        words = [words[0], *without_options(words[2:])]
        if words[1:2] in (["-m"], ["--module"]):
            return run_within(words, ["python", "-m", *words[2:]])
    for at, word in enumerate(words[1:], 1):
        if os.path.basename(words[0]) == "env" and re.match(r"\w+=", word):
            variable, _, value = word.partition("=")
            os.environ[variable] = value
        name = os.path.basename(word)
        is_script = re.search(r"\.(sh|bash|slurm|sbatch)$", word) is not None
        if name in WRAPPERS or name in REMOTE or is_started(name):
            return run_within(words, words[at:])
        if word.endswith(".py"):
            return run_within(words, ["python", *words[at:]])
        if is_script and os.path.isfile(word):
            return run_within(words, words[at:])
    write("other", words)


def remote(words: list[str]) -> None:
    """What a shell of another machine is told to run."""
    for at in range(1, len(words)):
        text = " ".join(words[at:])
        if re.search(r"\b(torchrun|deepspeed|accelerate|python[0-9.]*|bash)\b", text):
            run_within(words, ["bash", "-c", text])
            return
    write("other", words)


def batch_options(text: str) -> dict[str, str]:
    """What the #SBATCH lines of a script say, as Slurm tells it to the script."""
    said = re.findall(r"^#SBATCH\s+(.*)$", text, re.MULTILINE)
    words = " ".join(line.split("#")[0] for line in said)
    made = {}
    nodes = re.search(r"(?:--nodes[= ]|-N ?)(\d+)", words)
    devices = re.search(r"--(?:gpus-per-node|gres)[= ](?:[a-zA-Z_0-9-]+:)*(\d+)", words)
    tasks = re.search(r"--(?:ntasks-per-node|tasks-per-node)[= ](\d+)", words)
    if nodes:
        made["SLURM_NNODES"] = made["SLURM_JOB_NUM_NODES"] = nodes[1]
        made["SLURM_JOB_NODELIST"] = ",".join(f"node{i}" for i in range(int(nodes[1])))
        made["ASHLAR_READ_NODES"] = nodes[1]
    if devices:
        made["SLURM_GPUS_ON_NODE"] = made["SLURM_GPUS_PER_NODE"] = devices[1]
        made["ASHLAR_READ_DEVICES"] = devices[1]
    if tasks:
        made["SLURM_NTASKS_PER_NODE"] = tasks[1]
        made["SLURM_NTASKS"] = str(int(tasks[1]) * int(nodes[1] if nodes else 1))
    return made


def batch(words: list[str]) -> None:
    inner: list[str] = []
    text = ""
    for at, word in enumerate(words[1:], 1):
        if word.startswith("--wrap"):
            text = word[len("--wrap=") :] if "=" in word else " ".join(words[at + 1 :])
            inner = ["bash", "-c", text]
            break
        if os.path.isfile(word):
            inner = ["bash", *words[at:]]
            with open(word, encoding="utf-8", errors="replace") as file:
                text = file.read(1 << 20)
            break
    if not inner and (is_pipe(0) or stat.S_ISREG(os.fstat(0).st_mode)):
        text = sys.stdin.read(1 << 20)
        inner = ["bash", "-c", text]
    if not text:
        return write("other", words)
    os.environ.update(batch_options(text))
    run_within([*words, *inner], inner)


# Questions that scripts ask PyTorch about the machine.
_TORCH = """\
import sys, types
torch = types.ModuleType("torch")
torch.cuda = types.SimpleNamespace(device_count=lambda: {0}, is_available=lambda: True)
sys.modules["torch"] = torch
del torch
"""


def devices() -> int:
    return int(os.environ.get("ASHLAR_READ_DEVICES", "8"))


def python(words: list[str]) -> None:
    rest = words[1:]
    while rest and rest[0] in ("-u", "-B", "-O", "-I", "-s", "-E"):
        rest = rest[1:]
    if rest[:1] in (["-V"], ["--version"]):
        print("Python 3.12.0")
    elif rest[:1] == ["-c"] or rest[:1] == ["-"] or not rest:
        # A sum, or a look at a file: without any package that could train.
        text = rest[1] if rest[:1] == ["-c"] and len(rest) > 1 else sys.stdin.read()
        line = [sys.executable, "-I", "-S", "-c", _TORCH.format(devices()) + text]
        ran = subprocess.run([*line, *rest[2:]])
        if ran.returncode != 0:
            write("other", words)
    else:
        write("command", words)


def answer(name: str, words: list[str]) -> None:
    nodes = int(os.environ.get("ASHLAR_READ_NODES", "1"))
    if name == "hostname":
        print(
            "127.0.0.1" if any(word.startswith("-") for word in words[1:]) else "node0"
        )
    elif name == "nproc":
        print(16)
    elif name == "scontrol":
        if words[1:2] == ["show"] and "hostname" in " ".join(words[2:3]):
            print("\n".join(f"node{i}" for i in range(nodes)))
    elif name == "ds_ssh":
        # DeepSpeed's, on all hosts: two lines of its own stand before their answers.
        print(f"hostfile=/job/hostfile\n{' '.join(words[1:])}")
        for i in range(nodes * devices()):
            print(f"node{i // devices()}: device {i % devices()}")
    else:
        for i in range(devices() if len(words) > 1 else 0):
            print(f"GPU {i}: device {i}")


def play(name: str, words: list[str]) -> None:
    if is_python(name):
        python(words)
    elif name in TRAINERS:
        write("command", words)
    elif name in WRAPPERS:
        wrap(words)
    elif name in REMOTE:
        remote(words)
    elif name in BATCH:
        batch(words)
    elif name in SHELLS:
        os.execvp("bash", ["bash", *words[1:]])
    elif name in ANSWERED:
        answer(name, words)
    elif name not in SILENT:
        write("other", words)


if __name__ == "__main__":
    play(os.path.basename(sys.argv[1]), sys.argv[1:])
