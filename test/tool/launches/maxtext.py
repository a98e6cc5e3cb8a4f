"""MaxText."""

import json
from pathlib import Path

from launch_reading import of_script, part, read

BASE = {"base_config": "base.yml", "model_name": "default", "hardware": "gpu", "per_device_batch_size": 4, "max_target_length": 4096}
ROUTED = {"decoder_block": "mixtral", "num_experts": 8, "num_experts_per_tok": 2, "base_mlp_dim": 512, "base_moe_mlp_dim": 512}
JAX = "JAX: XLA fuses and overlaps in its own way, and no run of it was measured"

RECIPES = [
    ({**BASE, "ici_fsdp_parallelism": 8, "attention": "cudnn_flash_te", "base_num_query_heads": 32, "base_num_kv_heads": 8, "use_qk_norm": True,
      "steps": 3, "gradient_accumulation_steps": 2},
     {"batch": {"sequence": 4096, "micro_batch": 4, "micro_batches": 2}, "layout.sharding": "full", "layout.shard_ranks": 8,
      "layout.recompute": "full", "program.attention": "cudnn", "unknown": [JAX], "model.architecture.hidden": 2048,
      "model.architecture.layers": [0] * 16, "model.architecture.kinds.0.mix.beside": 2048 + 256, "model.architecture.kinds.0.mix.groups": 8}),
    # Tensor ranks have no sequences of their own, and copies are of whole meshes.
    ({**BASE, "per_device_batch_size": 0.5, "ici_tensor_sequence_parallelism": 4, "ici_fsdp_parallelism": 2, "dcn_fsdp_parallelism": 4,
      "dcn_data_parallelism": 3, "weight_dtype": "bfloat16", "quantization": "fp8", "remat_policy": "save_dot_except_mlp"},
     {"batch.micro_batch": 2, "layout.tensor": 4, "layout.shard_ranks": 8, "program.precision": "fp8", "layout.recompute": "core_attn,layernorm,mlp",
      "program.fact": "fused-activation=on,fused-rotation=on,scales=delayed,main-weights=16-bit,second-moment=16-bit,first-moment=16-bit",
      "notes": ["its mesh has 96 devices"]}),
    ({**BASE, **ROUTED, "ici_expert_parallelism": 8, "ici_fsdp_parallelism": 1, "sparse_matmul": False, "capacity_factor": 1.25,
      "remat_policy": "minimal_with_context"},
     {"layout.expert": 8, "layout.shard_ranks": 8, "layout.recompute": "layernorm,moe_act", "model.architecture.kinds.0.feed.chosen": 2,
      "program.fact": "fused-activation=on,fused-rotation=on,imbalance=1.25"}),
    ({**BASE, **ROUTED, "ici_fsdp_parallelism": -1, "dcn_fsdp_parallelism": -1, "dcn_data_parallelism": 1, "sparse_matmul": False},
     {"layout.sharding": "full", "layout.shard_ranks": None, "model.architecture.kinds.0.feed.chosen": 8}),
    ({**BASE, "ici_data_parallelism": 8, "ici_fsdp_parallelism": 1, "mu_dtype": "bfloat16", "num_vocab_tiling": 4},
     {"layout.sharding": "none", "program.fact": "fused-activation=on,fused-rotation=on,first-moment=16-bit", "unknown.2": "num_vocab_tiling"}),
    ({**BASE, "model_name": "llama2-7b", "ici_fsdp_parallelism": 8}, {"model": None, "notes.0": "the model is llama2-7b of MaxText's "
      "configs/models, which is not there: give --model to ashlar predict"}),
    (BASE, "ranks share within a node"),
    ({**BASE, "hardware": "tpu"}, "hardware tpu: --set hardware=gpu predicts GPUs"),
    ({**BASE, "ici_fsdp_parallelism": 8, "remat_policy": "save_qkv_proj"}, "remat_policy save_qkv_proj keeps or moves products"),
    ({**BASE, "ici_pipeline_parallelism": 2}, "stages in a circle"),
    ({**BASE, "ici_fsdp_parallelism": 1, "ici_expert_parallelism": -1}, "ici_expert_parallelism takes what the devices leave"),
    ({**BASE, "ici_tensor_parallelism": -1}, "-1 for more than one axis"),
    ({**BASE, "decoder_block": "gemma3", "ici_fsdp_parallelism": 8}, "decoder_block gemma3: its layers are not known"),
    ({**BASE, "attention_sink": True, "ici_fsdp_parallelism": 8}, "attention_sink True: such layers"),
    ({**BASE, "quantization": "int8", "ici_fsdp_parallelism": 8}, "quantization int8 is not predicted"),
    ({**BASE, "opt_type": "muon", "ici_fsdp_parallelism": 8}, "opt_type muon"),
    ({**BASE, "per_device_batch_size": 0.5, "ici_fsdp_parallelism": 8}, "has 0.5 sequences"),
    ({**BASE, "optimizer_memory_host_offload": True}, "optimizer_memory_host_offload True is not predicted"),
    ({**BASE, **ROUTED, "sparse_matmul": False, "ici_expert_parallelism": 8, "ici_fsdp_parallelism": 1}, "expert ranks without a capacity_factor"),
]


def check(folder):
    """The file of a model stands above a configuration, and words above it only where MaxText takes them; Primus hands its values on."""
    root = Path(folder, "configs")
    Path(root, "models").mkdir(parents=True)
    Path(root, "gpu").mkdir()
    Path(root, "base.yml").write_text(json.dumps({"model_name": "default", "hardware": "tpu", "packing": True, "remat_policy": "full", "z_loss_multiplier": 0.0}))
    Path(root, "models/small.yml").write_text(json.dumps({"base_num_decoder_layers": 4, "base_emb_dim": 64, "logits_via_embedding": True}))
    own = {**BASE, "model_name": "small", "base_num_decoder_layers": 2, "ici_fsdp_parallelism": 8, "z_loss_multiplier": 0.0}
    Path(root, "gpu/own.yml").write_text(json.dumps(own))
    run, said = read("recipe", folder, [str(Path(root, "gpu/own.yml"))])
    assert run is not None, said
    assert len(part(run, "model.architecture.layers")) == 4 and part(run, "model.architecture.is_tied"), run
    assert part(run, "notes.0") == "base_num_decoder_layers of small.yml replaces that of the file", run
    assert "z_loss_multiplier" not in part(run, "not_read") and len(part(run, "unknown")) == 2, run
    start = "python3 -m maxtext.trainers.pre_train.train configs/gpu/own.yml run_name=a "
    run, said = of_script(folder, start + "remat_policy=none dcn_data_parallelism=2")
    assert run is not None and part(run, "layout.recompute") is None and part(run, "layout.shard_ranks") == 8, said
    run, said = of_script(folder, start + "base_emb_dim=128")
    assert run is None and "MaxText stops at base_emb_dim=128" in said, said
    run, said = of_script(folder, start + "base_emb_dim=128 override_model_config=true")
    assert run is not None and part(run, "model.architecture.hidden") == 128, said
    run, said = of_script(folder, "export M_REMAT_POLICY=none\n" + start)
    assert run is None and "M_REMAT_POLICY" in said, said
    run, said = of_script(folder, start.replace("pre_train.train", "post_train.sft.train_sft"))
    assert run is None and "only train" in said, said
    primus = Path(folder, "primus/configs")
    for kind, values in (("modules", {"hardware": "gpu", "weight_dtype": "bfloat16"}), ("models", {"model_name": "small", "attention": "cudnn_flash_te"})):
        Path(primus, kind, "maxtext").mkdir(parents=True)
        Path(primus, kind, "maxtext/a.json").write_text(json.dumps(values))
    Path(folder, "third_party/maxtext/src").mkdir(parents=True)
    Path(folder, "third_party/maxtext/src/maxtext").symlink_to(folder)
    trainer = {"framework": "maxtext", "config": "a.json", "model": "a.json", "overrides": {"base_config": "base.yml", "ici_fsdp_parallelism": 8}}
    Path(folder, "job.json").write_text(json.dumps({"modules": {"pre_trainer": trainer}}))
    run, said = read("recipe", folder, [str(Path(folder, "job.json"))])
    assert run is not None and part(run, "model.architecture.hidden") == 64 and part(run, "program.attention") is None, said
