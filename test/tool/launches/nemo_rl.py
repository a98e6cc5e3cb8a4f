"""NeMo RL."""

import json
from pathlib import Path

from launch_reading import part, read

POLICY = {"model_name": "a/b", "train_global_batch_size": 128, "train_micro_batch_size": 2, "max_total_sequence_length": 1024,
          "precision": "bfloat16"}

RECIPES = [
    ({"sft": {"max_num_steps": 1}, "policy": {**POLICY, "dtensor_cfg": {"enabled": True, "tensor_parallel_size": 4, "sequence_parallel": True,
      "activation_checkpointing": True}}},
     {"layout.sharding": "full", "layout.tensor": 4, "layout.recompute": "full", "program.sequence_parallel": "on", "batch.sequences": 128,
      "batch.micro_batch": 2, "batch.sequence": 1024, "unknown": None}),
    ({"dpo": {"seed": 1}, "policy": {**POLICY, "dtensor_cfg": {"enabled": False}, "megatron_cfg": {"enabled": True,
      "tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 4, "expert_model_parallel_size": 1, "activation_checkpointing": True,
      "recompute_granularity": "selective", "optimizer": {"optimizer": "adam", "use_distributed_optimizer": True,
                                                   "use_precision_aware_optimizer": True, "exp_avg_dtype": "torch.bfloat16"}}}},
     {"batch.sequences": 256, "batch.micro_batch": 4, "layout.pipeline": 4, "layout.sharding": "optimizer", "layout.recompute": "core_attn",
      "program.frozen_forwards": None, "program.fact": "main-weights=rest,first-moment=16-bit", "unknown": None}),
    ({"sft": {"seed": 1}, "policy": {**POLICY, "megatron_cfg": {"enabled": True, "expert_model_parallel_size": 8, "moe_enable_deepep": True,
      "moe_permute_fusion": True, "apply_rope_fusion": False, "fp8_cfg": {"enabled": True, "fp8_recipe": "blockwise"},
      "distributed_data_parallel_config": {"overlap_grad_reduce": True, "overlap_param_gather": False}}}},
     {"program.precision": "fp8", "layout.expert": 8,
      "program.fact": "fused-permutation=on,fused-rotation=off,data-overlap=off,scales=blocks,expert-dispatch=once"}),
    ({"rm": {"seed": 1}, "policy": {**POLICY, "dtensor_cfg": {"enabled": True, "cpu_offload": True}}},
     {"program.head": "1", "batch.micro_batch": 4, "layout.offload_weights": "own"}),
    ({"grpo": {"seed": 1}, "cluster": {"num_nodes": 8, "gpus_per_node": 8}, "policy": {**POLICY, "dtensor_cfg": {"enabled": True},
      "sequence_packing": {"enabled": True, "train_mb_tokens": 8192}, "generation": {"colocated": {"enabled": False, "resources": {"num_nodes": 4}}}}},
     {"batch.micro_batch": 4, "notes.1": "launched on 4 x 8 devices", "unknown.0": "policy.sequence_packing (micro-batches of 8192 tokens)"}),
    ({"grpo": {"seed": 1}, "policy": {**POLICY, "is_vlm": True, "hf_config_overrides": {"rope_scaling": {"factor": 2}, "num_hidden_layers": 2},
      "dtensor_cfg": {"enabled": True, "automodel_kwargs": {"use_liger_kernel": True},
                      "lora_cfg": {"enabled": True, "dim": 8, "target_modules": ["q_proj"], "exclude_modules": ["*out_proj*"]}}}},
     {"program.lora": "8,q_proj", "unknown": ["policy.dtensor_cfg.lora_cfg.exclude_modules: layers without adapters",
      "frozen weights beside adapters are in 32 bits", "policy.is_vlm: what images add", "policy.hf_config_overrides.num_hidden_layers",
      "policy.dtensor_cfg.automodel_kwargs.use_liger_kernel"]}),
    ({"grpo": {"seed": 1}, "policy": {**POLICY, "dtensor_cfg": {"enabled": True}, "optimizer": {"name": "torch.optim.SGD"}}}, "only Adam's state"),
    ({"distillation": {"seed": 1}, "teacher": {"model_name": "c/d"}, "policy": {**POLICY, "dtensor_cfg": {"enabled": True}}},
     {"batch.sequences": 128, "batch.micro_batch": 2, "program.teacher": None, "unknown": None,
      "notes.2": "NeMo RL: one update of the model that generates, with prompts and answers of full length; without generation, rewards and "
      "forwards of other models"}),
    ({"distillation": {"seed": 1}, "teachers": [{"model_name": "c/d"}], "policy": POLICY}, "teachers: a teacher runs beside"),
    ({"sft": {"seed": 1}, "teacher": {"model_name": "c/d"}, "policy": POLICY}, "teacher: a teacher runs beside"),
    ({"grpo": {"seed": 1}, "on_policy_distillation": {"non_colocated_teachers": {"enabled": True}}, "policy": POLICY},
     "on_policy_distillation: a teacher runs beside"),
    ({"sft": {"seed": 1}, "policy": {**POLICY, "dtensor_cfg": {"enabled": False}}}, "one of megatron_cfg and dtensor_cfg"),
]


def check(folder):
    """A recipe of NeMo RL says how it differs from files that begin as others."""
    inner = {"enabled": True, "tensor_parallel_size": 4, "activation_checkpointing": True}
    files = {"base.json": {"sft": {"seed": 1}, "cluster": {"num_nodes": 1}, "policy": {**POLICY, "dtensor_cfg": inner}},
             "more/mid.json": {"defaults": "../base.json", "policy": {"train_global_batch_size": 64}},
             "more/own.json": {"defaults": ["./mid.json"], "policy": {"dtensor_cfg": {"_override_": True, "enabled": True}}},
             "more/loop.json": {"defaults": "loop.json", "policy": {}}}
    for name, tree in files.items():
        Path(folder, name).parent.mkdir(exist_ok=True)
        Path(folder, name).write_text(json.dumps(tree))
    run, said = read("recipe", folder, [str(Path(folder, "more/own.json"))])
    assert run is not None, said
    found = [part(run, name) for name in ("batch.sequences", "batch.sequence", "layout.tensor", "layout.recompute")]
    assert found == [64, 1024, 1, None], found
    run, said = read("recipe", folder, [str(Path(folder, "more/loop.json"))])
    assert run is None and "more than 32 files" in said, said
