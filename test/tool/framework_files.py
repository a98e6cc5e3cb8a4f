#!/usr/bin/env python3
"""The packages that run the files of `ashlar plan --emit` accept them, and refuse what it refuses.

usage: framework_files.py ASHLAR

With megatron-core: its parser reads the layouts, and its configuration has the sizes of the model and of the run. With torchtitan: its parser
reads the arguments, and its stages have all modules of the model once. With megatron-bridge, whose Transformer Engine may be missing: its
providers and configurations take the fields. With deepspeed: its configuration reads the file. Skipped (77) if none is installed.
"""
import importlib.machinery
import importlib.util
import json
import shlex
import subprocess
import sys
import tempfile
import unittest.mock
from pathlib import Path

ASHLAR = sys.argv[1]
DENSE = "--model llama3-70b --sequence 8192 --cluster 8x8xH100 --batch 64 --schedules 1f1b,interleaved"
DEEP = "--model deepseek-v3 --sequence 4096 --cluster 32x8xH800 --batch 512 --schedules 1f1b,interleaved"


# Nothing fits these without the memory of the hosts.
FEW = "--model llama3-70b --sequence 4096 --cluster 8xH100 --batch 64 --schedules 1f1b,interleaved"


def plan(asked, fixed, framework, folder):
    file = Path(folder) / "emitted"
    """The plan with some sizes fixed, or, without any, the best of what the framework runs; and what is written."""
    space = ["--fix", fixed] if fixed else ["--for", framework]
    ran = subprocess.run([ASHLAR, "plan", *shlex.split(asked), *space, "--top", "1", "--as", "json", "--emit", f"{framework}:{file}"],
                         capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)["plans"][0], file.read_text()


def check_megatron_offload(folder):
    from megatron.core.optimizer import OptimizerConfig
    from megatron.core.transformer import TransformerConfig

    base = dict(num_layers=80, hidden_size=8192, num_attention_heads=64, num_query_groups=8, ffn_hidden_size=28672, gated_linear_unit=True,
                add_bias_linear=False, normalization="RMSNorm", bf16=True, pipeline_dtype=__import__("torch").bfloat16)
    for fixed in ("tensor=8,sharding=optimizer", "tensor=2,pipeline=4,chunks=1,recompute=none,sharding=optimizer,offload-optimizer=true,"
                  "offload-activations=attn_norm,micro-batch=1"):
        chosen, text = plan(FEW.replace("8xH100", "8xH200") if "attn_norm" in fixed else FEW, fixed, "megatron", folder)
        words = shlex.split(text.replace("\\\n", " "), comments=True)
        assert "--optimizer-cpu-offload" in words and chosen["offload_optimizer"]
        # It would ask for a version of Transformer Engine if it were made without that; so only its
        # fields are compared.
        for word in ("optimizer-cpu-offload", "use-precision-aware-optimizer", "optimizer-offload-fraction", "use-distributed-optimizer"):
            assert f"--{word}" in words and word.replace("-", "_") in OptimizerConfig.__dataclass_fields__, word
        if "--cpu-offloading-num-layers" in words:
            layers = int(words[words.index("--cpu-offloading-num-layers") + 1])
            assert chosen["offload"] == f"full:{layers}"
            TransformerConfig(**base, tensor_model_parallel_size=chosen["tensor"], cpu_offloading=True, cpu_offloading_num_layers=layers)
        else:
            modules = chosen["offload"].split(",")
            at = words.index("--offload-modules") + 1
            assert "--fine-grained-activation-offloading" in words and words[at:at + len(modules)] == modules
            TransformerConfig(**base, tensor_model_parallel_size=chosen["tensor"], pipeline_model_parallel_size=chosen["pipeline"],
                              fine_grained_activation_offloading=True, offload_modules=modules)
    # It refuses what we refuse.
    for wrong in (dict(cpu_offloading=True, cpu_offloading_num_layers=80), dict(cpu_offloading=True, cpu_offloading_num_layers=8, pipeline_model_parallel_size=2),
                  dict(cpu_offloading=True, cpu_offloading_num_layers=8, recompute_granularity="selective"),
                  dict(fine_grained_activation_offloading=True, offload_modules=["attn_proj"]), dict(fine_grained_activation_offloading=True, offload_modules=["mlp"])):
        try:
            TransformerConfig(**base, **wrong)
        except (AssertionError, ValueError):
            continue
        raise AssertionError(f"Megatron-Core takes {wrong}")


def check_megatron(folder):
    check_megatron_offload(folder)
    from megatron.core.transformer import MLATransformerConfig, TransformerConfig
    from megatron.core.transformer.pipeline_parallel_layer_layout import PipelineParallelLayerLayout

    for asked, fixed in ((DENSE, ""), (DENSE, "tensor=8,pipeline=8,chunks=3,sharding=optimizer"), (DENSE, "tensor=8,pipeline=8,chunks=1,sharding=optimizer"),
                         (DEEP, "tensor=1,pipeline=16,expert=16,chunks=2,sharding=optimizer"), (DEEP, "tensor=1,pipeline=8,expert=32,chunks=1,sharding=optimizer,recompute=full"),
                         (DEEP.replace("1f1b,interleaved", "combined-1f1b"), "tensor=1,pipeline=16,expert=16,chunks=2,sharding=optimizer")):
        chosen, text = plan(asked, fixed, "megatron", folder)
        words = shlex.split(text.replace("\\\n", " "), comments=True)
        given = {}
        for word in words:
            if word.startswith("--"):
                name = word[2:].replace("-", "_")
                given[name] = ""
            else:
                given[name] = (given[name] + " " + word).strip()
        pipeline, predictions = int(given["pipeline_model_parallel_size"]), int(given.get("mtp_num_layers", 0))
        layout = chosen["layout"]
        parsed = PipelineParallelLayerLayout(layout, pipeline)
        parsed.validate_layer_layout(int(given["num_layers"]), predictions or None)
        counts = [sum(kind.name == "decoder" for kind in parsed.layout[s % pipeline][s // pipeline]) for s in range(len(chosen["layers"]))]
        assert counts == chosen["layers"], (layout, counts)
        sizes = dict(num_layers=int(given["num_layers"]), hidden_size=int(given["hidden_size"]), num_attention_heads=int(given["num_attention_heads"]),
                     ffn_hidden_size=int(given["ffn_hidden_size"]), tensor_model_parallel_size=int(given["tensor_model_parallel_size"]),
                     pipeline_model_parallel_size=pipeline, sequence_parallel="sequence_parallel" in given, gated_linear_unit="swiglu" in given,
                     normalization=given["normalization"], add_bias_linear="disable_bias_linear" not in given, pipeline_model_parallel_layout=layout,
                     pipeline_dtype=__import__("torch").bfloat16, bf16=True)
        if "recompute_granularity" in given:
            sizes |= dict(recompute_granularity=given["recompute_granularity"], recompute_method=given.get("recompute_method"))
            if "recompute_num_layers" in given:
                sizes["recompute_num_layers"] = int(given["recompute_num_layers"])
            if "recompute_modules" in given:
                sizes["recompute_modules"] = given["recompute_modules"].split()
        if "num_experts" in given:
            sizes |= dict(num_moe_experts=int(given["num_experts"]), moe_router_topk=int(given["moe_router_topk"]),
                          moe_ffn_hidden_size=int(given["moe_ffn_hidden_size"]), expert_model_parallel_size=int(given["expert_model_parallel_size"]),
                          moe_layer_freq=eval(given["moe_layer_freq"]), mtp_num_layers=predictions or None)
            sizes |= dict(moe_token_dispatcher_type=given["moe_token_dispatcher_type"], moe_router_num_groups=int(given["moe_router_num_groups"]),
                          moe_router_group_topk=int(given["moe_router_group_topk"]), overlap_moe_expert_parallel_comm="combined-1f1b" in asked)
            assert ("overlap_moe_expert_parallel_comm" in given) == ("combined-1f1b" in asked)
        if "kv_lora_rank" in given:
            MLATransformerConfig(**sizes, kv_lora_rank=int(given["kv_lora_rank"]), q_lora_rank=int(given["q_lora_rank"]), multi_latent_attention=True)
        else:
            config = TransformerConfig(**sizes, kv_channels=int(given["kv_channels"]), num_query_groups=int(given["num_query_groups"]))
            assert config.virtual_pipeline_model_parallel_size == (chosen["chunks"] if chosen["chunks"] > 1 else config.virtual_pipeline_model_parallel_size)
    # Pairs without expert ranks are refused, too.
    for ranks, is_taken in ((2, True), (1, False)):
        try:
            TransformerConfig(num_layers=4, hidden_size=64, num_attention_heads=4, num_moe_experts=4, expert_model_parallel_size=ranks, bf16=True,
                              add_bias_linear=False, moe_token_dispatcher_type="alltoall", overlap_moe_expert_parallel_comm=True)
            assert is_taken, "Megatron-Core takes pairs without expert ranks"
        except AssertionError as e:
            if is_taken or "expert model parallelism" not in str(e):
                raise
    # It refuses what we refuse: stages that are none, layers that are too many, predictions in several
    # stages.
    for wrong, pipeline in (("Et|tt|L", 2), ("Ett|ttL", 2), ("Etm|tmL", 2), ("t|tEL", 2)):
        try:
            parsed = PipelineParallelLayerLayout(wrong, pipeline)
            parsed.validate_layer_layout(3, 2 if "m" in wrong else None)
        except AssertionError:
            continue
        raise AssertionError(f"Megatron-Core takes {wrong}")


def check_torchtitan(folder):
    from torchtitan.config.manager import ConfigManager

    for fixed in ("tensor=8,pipeline=4,data=2,sharding=none,chunks=1,recompute=full", "tensor=8,pipeline=1,sharding=full,recompute=full", ""):
        chosen, text = plan(DENSE.replace("8x8xH100", "8x8xH200"), fixed, "torchtitan", folder)
        config = ConfigManager().parse_args(shlex.split(text.replace("\\\n", " "), comments=True))
        p = config.parallelism
        assert (p.tensor_parallel_degree, p.pipeline_parallel_degree) == (chosen["tensor"], chosen["pipeline"])
        assert config.training.seq_len == 8192 and config.training.global_batch_size == 64
        if chosen["pipeline"] > 1:
            parts = p.module_fqns_per_model_part
            assert [sum(name.startswith("layers.") for name in part) for part in parts] == chosen["layers"]
            names = [name for part in parts for name in part]
            assert names == ["tok_embeddings", *(f"layers.{i}" for i in range(80)), "norm", "lm_head"], names
            assert p.pipeline_parallel_microbatch_size == chosen["micro_batch"]
    refused = subprocess.run([sys.executable, "-c", "from torchtitan.config.manager import ConfigManager\n"
                              "ConfigManager().parse_args('--module llama3 --config llama3_70b --parallelism.pipeline_ranks 2'.split())"], capture_output=True)
    assert refused.returncode != 0


class AnyModule:
    """Finds Transformer Engine, which is built for a GPU: modules that have every name. No field of a configuration comes from it."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("transformer_engine", "transformer_engine_torch"):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = unittest.mock.MagicMock(__path__=[], __spec__=spec, __version__="2.12.0")
        module.__name__ = spec.name
        return module

    def exec_module(self, module):
        pass


def check_bridge(folder):
    import yaml
    from megatron.bridge.models import GPTModelProvider
    from megatron.bridge.models.mla_provider import MLAModelProvider
    from megatron.bridge.training.comm_overlap import CommOverlapConfig
    from megatron.bridge.training.config import DistributedDataParallelConfig, OptimizerConfig, TrainingConfig

    sections = {"train": TrainingConfig, "ddp": DistributedDataParallelConfig, "optimizer": OptimizerConfig, "comm_overlap": CommOverlapConfig}
    for asked, fixed, provider in ((DENSE, "tensor=8,pipeline=8,chunks=1,sharding=optimizer", GPTModelProvider),
                                   (FEW, "tensor=8,sharding=optimizer", GPTModelProvider),
                                   (DEEP, "tensor=1,pipeline=16,expert=16,chunks=2,sharding=optimizer", MLAModelProvider)):
        chosen, text = plan(asked, fixed, "megatron-bridge", folder)
        written = yaml.safe_load(text)
        for section, fields in written.items():
            known = {**sections, "model": provider}[section].__dataclass_fields__
            assert not set(fields) - set(known), (section, set(fields) - set(known))
        model = provider(**{key: value for key, value in written["model"].items() if not key.startswith("cpu_offloading")})
        assert (model.tensor_model_parallel_size, model.pipeline_model_parallel_size) == (chosen["tensor"], chosen["pipeline"])
        TrainingConfig(**written["train"])
        OptimizerConfig(**written.get("optimizer", {}))


def check_deepspeed(folder):
    from deepspeed.runtime.config import DeepSpeedConfig

    def read(written, data):
        # Without processes it takes one rank: the batch of one, then.
        one = {**written, "train_batch_size": written["train_batch_size"] // data}
        return DeepSpeedConfig(one)

    for asked, fixed in ((DENSE, "tensor=8,pipeline=4,chunks=1,sharding=optimizer,recompute=full"), (FEW, "tensor=8,sharding=optimizer,offload-optimizer=true"),
                         (DENSE, "tensor=8,pipeline=1,sharding=full,recompute=full"), (DENSE, "")):
        chosen, text = plan(asked, fixed, "deepspeed", folder)
        written = json.loads(text)
        config = read(written, chosen["data"])
        assert config.train_micro_batch_size_per_gpu == chosen["micro_batch"]
        assert config.zero_optimization_stage == {"optimizer": 1, "full": 3}[chosen["sharding"]]
        assert (config.zero_config.offload_optimizer is not None) == bool(chosen.get("offload_optimizer"))
        for wrong in ({"zero_optimization": {"stage": 4}}, {"gradient_accumulation_steps": written["gradient_accumulation_steps"] + 1}):
            try:
                read({**written, **wrong}, chosen["data"])
            except (AssertionError, ValueError):
                continue
            raise AssertionError(f"DeepSpeed takes {wrong}")


def main():
    checked = 0
    if importlib.util.find_spec("transformer_engine") is None:
        sys.meta_path.append(AnyModule())
    for name, check in (("megatron.core", check_megatron), ("torchtitan", check_torchtitan), ("megatron.bridge", check_bridge),
                        ("deepspeed", check_deepspeed)):
        try:
            __import__(name)
        except ImportError as error:
            print(f"without {name}: {error}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            check(folder)
        checked += 1
    sys.exit(0 if checked else 77)


if __name__ == "__main__":
    main()
