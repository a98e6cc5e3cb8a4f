"""Reads thirty public recipes through their frameworks' own packages, and compares the
run with what the framework's objects say.

usage: recipes_of_packages.py ASHLAR [NAME ...]

Of each NAME (bridge, torchtitan, verl; default: all) the package has to be installed;
without it, its recipes are skipped and named. It takes minutes, no GPU and no network:
the configurations of Hugging Face that Megatron-Bridge asks for are written here, from
their published sizes. Models of torchtitan are also built by torchtitan itself on the
`meta` device, and their parameters counted.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent


def read_package() -> None:
    """ashlar_pp.read of this checkout, whose extension is not needed."""
    spec = importlib.machinery.ModuleSpec("ashlar_pp", None, is_package=True)
    package = importlib.util.module_from_spec(spec)
    package.__path__ = [str(HERE.parent / "ashlar_pp")]
    sys.modules["ashlar_pp"] = package


# Sizes by name: hidden, feed-forward, layers, heads, groups, vocabulary, tied.
LLAMAS = {
    "meta-llama/Meta-Llama-3-8B": (4096, 14336, 32, 32, 8, 128256, False),
    "meta-llama/Meta-Llama-3-70B": (8192, 28672, 80, 64, 8, 128256, False),
    "meta-llama/Meta-Llama-3.1-8B": (4096, 14336, 32, 32, 8, 128256, False),
    "meta-llama/Meta-Llama-3.1-70B": (8192, 28672, 80, 64, 8, 128256, False),
    "meta-llama/Meta-Llama-3.1-405B": (16384, 53248, 126, 128, 8, 128256, False),
    "meta-llama/Llama-3.2-1B": (2048, 8192, 16, 32, 8, 128256, True),
    "meta-llama/Llama-3.2-3B": (3072, 8192, 28, 24, 8, 128256, True),
    "meta-llama/Llama-2-7b-hf": (4096, 11008, 32, 32, 32, 32000, False),
}
QWENS = {
    "Qwen/Qwen2.5-7B": ("qwen2", 3584, 18944, 28, 28, 4, 152064, False),
    "Qwen/Qwen2.5-14B": ("qwen2", 5120, 13824, 48, 40, 8, 152064, False),
    "Qwen/Qwen2.5-32B": ("qwen2", 5120, 27648, 64, 40, 8, 152064, False),
    "Qwen/Qwen3-8B": ("qwen3", 4096, 12288, 36, 32, 8, 151936, False),
    "Qwen/Qwen3-32B": ("qwen3", 5120, 25600, 64, 64, 8, 151936, False),
}
# Parameters that their cards say, to all digits.
PARAMETERS = {
    "llama2_7b": 6_738_415_616,
    "llama32_1b": 1_235_814_400,
    "llama32_3b": 3_212_749_824,
    "llama3_8b": 8_030_261_248,
    "llama3_70b": 70_553_706_496,
    "llama31_405b": 405_853_388_800,
    "qwen25_7b": 7_615_616_512,
    "qwen25_14b": 14_770_033_664,
    "qwen25_32b": 32_763_876_352,
    "qwen3_8b": 8_190_735_360,
    "qwen3_32b": 32_762_123_264,
    "llama31_8b": 8_030_261_248,
    "llama31_70b": 70_553_706_496,
}
BRIDGE = [
    ("llama.llama2", "llama2_7b"),
    ("llama.llama3", "llama32_1b"),
    ("llama.llama3", "llama32_3b"),
    ("llama.llama3", "llama3_8b"),
    ("llama.llama3", "llama3_70b"),
    ("llama.llama3", "llama31_405b"),
    ("qwen.qwen2", "qwen25_7b"),
    ("qwen.qwen2", "qwen25_14b"),
    ("qwen.qwen2", "qwen25_32b"),
    ("qwen.qwen3", "qwen3_8b"),
    ("qwen.qwen3", "qwen3_32b"),
    ("llama.llama3", "llama31_8b"),
    ("llama.llama3", "llama31_70b"),
]
TORCHTITAN = [
    "llama3 llama3_8b",
    "llama3 llama3_70b",
    "qwen3 qwen3_0_6b",
    "qwen3 qwen3_1_7b",
    "qwen3 qwen3_14b",
    "qwen3 qwen3_32b",
    "qwen3 qwen3_30b_a3b",
    "deepseek_v3 deepseek_v3_16b",
    "deepseek_v3 deepseek_v3_671b",
    "gpt_oss gpt_oss_20b",
    "gpt_oss gpt_oss_120b",
]
# verl's two configurations, with words as its examples give them.
VERL = [
    ("ppo_trainer", ""),
    ("ppo_trainer", "actor_rollout_ref.actor.use_dynamic_bsz=True"),
    ("ppo_trainer", "actor_rollout_ref.actor.ulysses_sequence_parallel_size=2"),
    ("ppo_trainer", "actor_rollout_ref.model.lora_rank=32"),
    (
        "ppo_megatron_trainer",
        "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4",
    ),
    (
        "ppo_megatron_trainer",
        "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2 "
        "actor_rollout_ref.actor.megatron.context_parallel_size=2",
    ),
]
USUAL = (
    "data.max_prompt_length=512 data.max_response_length=1536 "
    "actor_rollout_ref.actor.ppo_mini_batch_size=64 actor_rollout_ref.rollout.n=4 "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 "
    "actor_rollout_ref.model.path=org/none trainer.n_gpus_per_node=8 trainer.nnodes=1"
)


def write_configurations(home: pathlib.Path) -> None:
    """The files that transformers would have kept of Hugging Face's hub."""
    common = {
        "max_position_embeddings": 131072,
        "rms_norm_eps": 1e-5,
        "rope_theta": 500000.0,
        "hidden_act": "silu",
        "attention_bias": False,
    }
    keys = (
        "hidden_size intermediate_size num_hidden_layers num_attention_heads "
        "num_key_value_heads vocab_size tie_word_embeddings"
    ).split()
    every = {name: ("llama", *sizes) for name, sizes in LLAMAS.items()} | QWENS
    for name, (kind, *sizes) in every.items():
        tree = {**common, "model_type": kind, **dict(zip(keys, sizes, strict=True))}
        if kind == "llama":
            tree["architectures"] = ["LlamaForCausalLM"]
        elif kind == "qwen2":
            tree["architectures"] = ["Qwen2ForCausalLM"]
        else:
            tree["head_dim"] = 128
            tree["architectures"] = ["Qwen3ForCausalLM"]
        folder = (
            home / ".cache/huggingface/hub" / ("models--" + name.replace("/", "--"))
        )
        for place, text in (
            ("refs/main", "0" * 40),
            (f"snapshots/{'0' * 40}/config.json", json.dumps(tree)),
        ):
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(text)


def predicted(ashlar: str, run: Any, folder: pathlib.Path, *options: str) -> Any:
    path = folder / "run.json"
    path.write_text(run.text())
    line = [ashlar, "predict", "--run", str(path), "--as", "json", *options]
    ran = subprocess.run(line, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def says(options: str, name: str, value: int, usual: int = 1) -> None:
    words = f"{options} "
    assert f"--{name} {value} " in words or (
        value == usual and f"--{name} " not in words
    ), (name, value, options)


def check_bridge(ashlar: str, folder: pathlib.Path, module: str, name: str) -> None:
    from ashlar_pp.read.facts.stand_ins import import_recipe
    from ashlar_pp.read.frameworks.of_bridge import of_function

    place, function = f"megatron.bridge.recipes.{module}", f"{name}_pretrain_config"
    if not hasattr(import_recipe(place)[0], function):
        function = f"{name}_pretrain"
    run = of_function(f"{place}:{function}")
    said = getattr(importlib.import_module(place), function)()
    m, t = said.model, said.train
    ranks = (
        m.tensor_model_parallel_size
        * m.pipeline_model_parallel_size
        * m.context_parallel_size
        * m.expert_model_parallel_size
    )
    nodes = max(1, -(-ranks // 8))
    found = predicted(ashlar, run, folder, "--cluster", f"{nodes}x8xH100")
    assert found["parameters"] == PARAMETERS[name], (name, found["parameters"])
    for option, value in (
        ("tensor", m.tensor_model_parallel_size),
        ("pipeline", m.pipeline_model_parallel_size),
        ("context", m.context_parallel_size),
        ("chunks", m.virtual_pipeline_model_parallel_size or 1),
        ("expert", m.expert_model_parallel_size),
        ("micro-batch", t.micro_batch_size),
        ("batch", t.global_batch_size),
        ("sequence", m.seq_length),
    ):
        says(found["options"], option, value)
    is_full = m.recompute_granularity == "full"
    assert is_full == ("--recompute full" in found["options"]), found["options"]
    assert "--sharding optimizer" in found["options"], found["options"]


def check_torchtitan(ashlar: str, folder: pathlib.Path, names: str) -> None:
    import torch

    from ashlar_pp.read.frameworks.of_torchtitan import of_object

    module, config = names.split()
    manager = importlib.import_module("torchtitan.config").ConfigManager()
    job = manager.parse_args(["--module", module, "--config", config])
    run = of_object(job, config)
    found = predicted(ashlar, run, folder, "--cluster", "64x8xH100")
    with torch.device("meta"):
        model = job.model_spec.model.build()
    assert found["parameters"] == sum(each.numel() for each in model.parameters())
    p, t = job.parallelism, job.training
    says(found["options"], "tensor", p.tensor_parallel_degree)
    says(found["options"], "context", p.context_parallel_degree)
    says(found["options"], "expert", p.expert_parallel_degree)
    says(found["options"], "sequence", t.seq_len)
    says(found["options"], "micro-batch", t.local_batch_size)
    assert "--sharding full" in found["options"], found["options"]
    for word, option in (("none", ""), ("full", "full"), ("selective", "op")):
        given = [
            "--module",
            module,
            "--config",
            config,
            f"activation-checkpoint:{word}",
        ]
        told = predicted(
            ashlar,
            of_object(manager.parse_args(given), config),
            folder,
            "--cluster",
            "64x8xH100",
        )["options"]
        assert (f"--recompute {option} " in f"{told} ") == bool(option), (word, told)
        assert option or "--recompute" not in told, (word, told)


def check_emitted(ashlar: str, folder: pathlib.Path, model: str) -> None:
    """Arguments that `plan` writes: torchtitan's parser takes them, and the job that it
    makes is predicted to the same step."""
    from ashlar_pp.read.frameworks.of_torchtitan import of_object

    file = folder / "emitted"
    asked = f"--model {model} --cluster 8x8xH100 --sequence 8192 --batch 128 --top 1"
    line = [ashlar, "plan", *asked.split(), "--for", "torchtitan", "--as", "json"]
    ran = subprocess.run(
        [*line, "--emit", f"torchtitan:{file}"], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    step = json.loads(ran.stdout)["plans"][0]["seconds"]
    words = shlex.split(file.read_text().replace("\\\n", " "), comments=True)
    manager = importlib.import_module("torchtitan.config").ConfigManager()
    config = words[words.index("--config") + 1]
    run = of_object(manager.parse_args(words), config)
    found = predicted(ashlar, run, folder, "--cluster", "8x8xH100")
    assert abs(found["step_seconds"] / step - 1) < 1e-9, (model, found, step)


def check_verl(ashlar: str, folder: pathlib.Path, config: str, words: str) -> None:
    from ashlar_pp.read.frameworks.of_verl import read
    from ashlar_pp.read.frameworks.verl_config import composed
    from ashlar_pp.read.scripts.launchers import Training
    from ashlar_pp.read.scripts.recording import Command

    given = ["--config-name", config, *USUAL.split(), *words.split()]
    command = Command(("python",), str(folder), {}, ())
    run = read(Training("verl.trainer.main_ppo", tuple(given), command, True))
    whole = composed(config, given)["actor_rollout_ref"]["actor"]
    found = predicted(
        ashlar, run, folder, "--cluster", "8xH100", "--model", "llama3-8b"
    )
    says(found["options"], "sequence", 2048)
    says(found["options"], "batch", 256)
    if config == "ppo_megatron_trainer":
        m = whole["megatron"]
        says(found["options"], "tensor", m["tensor_model_parallel_size"])
        says(found["options"], "pipeline", m["pipeline_model_parallel_size"])
        says(found["options"], "context", m["context_parallel_size"])
        assert "--sharding optimizer" in found["options"]
    else:
        says(found["options"], "context", whole["ulysses_sequence_parallel_size"])
        assert "--sharding full" in found["options"]
        assert ("--lora 32" in found["options"]) == ("lora_rank" in words)
    if not whole["use_dynamic_bsz"]:
        says(found["options"], "micro-batch", whole["ppo_micro_batch_size_per_gpu"])


# The package, the check, and the recipes of each framework.
KINDS: dict[str, tuple[str, Callable[..., None], list[Any]]] = {
    "bridge": ("megatron.bridge", check_bridge, BRIDGE),
    "torchtitan": ("torchtitan", check_torchtitan, [(one,) for one in TORCHTITAN]),
    "verl": ("verl", check_verl, VERL),
    "emitted": ("torchtitan", check_emitted, [("llama3-8b",), ("qwen3-32b",)]),
}


def is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def main(words: list[str]) -> None:
    read_package()
    count = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_configurations(folder)
        os.environ.update(HOME=name, HF_HUB_OFFLINE="1")
        for kind in words[1:] or list(KINDS):
            package, check, recipes = KINDS[kind]
            if not is_installed(package):
                print(f"{package} is not installed: {len(recipes)} recipes are skipped")
                continue
            for one in recipes:
                check(words[0], folder, *one)
                print("read:", kind, *one, flush=True)
                count += 1
    print(f"{count} recipes")
    if count == 0:
        sys.exit(77)


if __name__ == "__main__":
    main(sys.argv[1:])
