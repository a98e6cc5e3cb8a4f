"""Configurations of oumi, jobs, and what `oumi train` starts: ashlar_pp.read."""

import json

import pytest

from ashlar_pp.read.launch import with_words
from ashlar_pp.read.recipes import run_of_recipe
from ashlar_pp.read.run_file import Unreadable, size_of
from ashlar_pp.read.scripts.launchers import trainings_of
from ashlar_pp.read.scripts.recording import Command
from ashlar_pp.read.trainings import run_of

BASE = {
    "model.model_name": "a/b",
    "model.model_max_length": 4096,
    "model.torch_dtype_str": "bfloat16",
    "model.trust_remote_code": True,
    "model.attn_implementation": "sdpa",
    "data.train.datasets": [{"dataset_name": "a/c"}],
    "training.trainer_type": "TRL_SFT",
    "training.per_device_train_batch_size": 2,
    "training.gradient_accumulation_steps": 8,
    "training.enable_gradient_checkpointing": True,
    "training.optimizer": "adamw_torch_fused",
    "training.dataloader_num_workers": "auto",
    "training.max_steps": 10,
}
FSDP = {"fsdp.enable_fsdp": True, "fsdp.auto_wrap_policy": "TRANSFORMER_BASED_WRAP"}
LORA = {
    "training.use_peft": True,
    "peft.lora_r": 16,
    "peft.lora_alpha": 32,
    "peft.lora_target_modules": ["q_proj", "v_proj"],
}
IN_16_BITS = "main-weights=16-bit,first-moment=16-bit,second-moment=16-bit"
DDP = "data-overlap=on,bucket=6553600"
SAID_LESS = "weights and gradients in 16 bits without a copy: memory is less than said"


def tree_of(changed):
    made = {}
    for key, value in {**BASE, **changed}.items():
        section = made
        *above, last = key.split(".")
        for name in above:
            section = section.setdefault(name, {})
        if value is not None:
            section[last] = value
    return made


def read(folder, changed, **more):
    return run_of_recipe(tree_of(changed), folder / "train.yaml", **more)


def test_whole_model(tmp_path):
    run = read(tmp_path, {})
    assert run.batch == {"sequence": 4096, "micro_batch": 2, "micro_batches": 8}
    assert run.layout == {"recompute": "full", "sharding": "none"}
    assert run.program == {
        "attention": "sdpa",
        "precision": "bf16",
        "fact": f"{DDP},{IN_16_BITS}",
    }
    assert run.unknown == [SAID_LESS]
    assert "training.max_steps" in run.not_read


def test_defaults_of_oumi(tmp_path):
    """src/oumi/core/configs/params: HF, 8 samples, no recomputation."""
    tree = {"model": {"model_name": "a/b"}, "training": {"output_dir": "o"}}
    run = run_of_recipe(tree, tmp_path / "train.yaml")
    assert run.batch == {"micro_batch": 8, "micro_batches": 1}
    assert run.layout == {"sharding": "none"}
    assert run.unknown[0] == "model.torch_dtype_str auto: taken to be bfloat16"
    assert any("--sequence" in note for note in run.notes)


@pytest.mark.parametrize(
    ("changed", "part", "expected"),
    [
        (FSDP, "layout.sharding", "full"),
        (FSDP, "program.fact", IN_16_BITS),
        (FSDP, "program.scatter_once", True),
        ({**FSDP, "training.trainer_type": "OUMI"}, "program.scatter_once", None),
        ({**FSDP, "fsdp.mixed_precision": "bf16"}, "program.fact", None),
        ({**FSDP, "fsdp.mixed_precision": "bf16"}, "program.precision", "bf16"),
        ({**FSDP, "fsdp.cpu_offload": True}, "layout.offload_weights", "own"),
        (
            {**FSDP, "fsdp.sharding_strategy": "SHARD_GRAD_OP"},
            "layout.sharding",
            "gradients",
        ),
        ({**FSDP, "fsdp.enable_fsdp": False, **LORA}, "layout.sharding", "none"),
        (LORA, "program.lora", "16,q_proj,v_proj"),
        (LORA, "program.fact", DDP),
        ({**LORA, "peft.lora_target_modules": ["all-linear"]}, "program.lora", "16"),
        ({**LORA, "peft.lora_r": None}, "program.lora", "8,q_proj,v_proj"),
        (
            {**LORA, "peft.lora_modules_to_save": ["lm_head"]},
            "program.lora",
            "16,q_proj,v_proj,train=head",
        ),
        ({**LORA, "peft.q_lora": True}, "program.frozen_weights", "4-bit,rest=32-bit"),
        (
            {**LORA, **FSDP, "peft.q_lora": True, "peft.use_bnb_nested_quant": True},
            "program.frozen_weights",
            "4-bit,double",
        ),
        (
            {**LORA, "peft.q_lora": True, "peft.q_lora_bits": 8},
            "program.frozen_weights",
            "8-bit,rest=32-bit",
        ),
        (
            {**LORA, "training.optimizer": "paged_adamw_8bit"},
            "program.fact",
            (f"{DDP},first-moment=8-bit,second-moment=8-bit"),
        ),
        (
            {**FSDP, "training.optimizer": "paged_adamw_8bit"},
            "program.fact",
            "first-moment=8-bit,second-moment=8-bit,main-weights=16-bit",
        ),
        (
            {
                **FSDP,
                "model.torch_dtype_str": "float32",
                "training.mixed_precision_dtype": "BF16",
            },
            "program.precision",
            "bf16",
        ),
        ({**FSDP, "model.torch_dtype_str": "float32"}, "program.precision", "fp32"),
        ({**FSDP, "model.torch_dtype_str": "float32"}, "program.fact", None),
        (
            {**FSDP, "training.enable_gradient_checkpointing": None},
            "layout.recompute",
            None,
        ),
        ({**FSDP, "training.use_deterministic": True}, "layout.recompute", None),
        (
            {**FSDP, "model.attn_implementation": "kernels-community/vllm-flash-attn3"},
            "program.attention",
            "flash_attention_3",
        ),
        ({**FSDP, "training.trainer_type": "TRL_DPO"}, "batch.micro_batch", 4),
        ({**FSDP, "training.trainer_type": "TRL_DPO"}, "program.frozen_copy", True),
        ({**FSDP, "training.trainer_type": "TRL_KTO"}, "program.frozen_forwards", 3),
        ({**FSDP, "training.trainer_type": "TRL_KTO"}, "batch.sequence", None),
        (
            {
                **FSDP,
                "training.trainer_type": "TRL_KTO",
                "training.trainer_kwargs.max_length": 512,
            },
            "batch.sequence",
            512,
        ),
        (
            {
                **FSDP,
                "training.trainer_type": "TRL_GRPO",
                "training.grpo.max_prompt_length": 512,
                "training.grpo.max_completion_length": 1024,
                "training.grpo.num_generations": 4,
                "training.grpo.use_vllm": True,
                "training.reward_functions": ["r"],
            },
            "batch.sequence",
            1536,
        ),
        (
            {**FSDP, "training.trainer_kwargs.max_seq_length": 8},
            "batch.sequence",
            4096,
        ),
        ({**FSDP, "model.freeze_layers": ["visual"]}, "program.freeze", "towers"),
    ],
)
def test_values(tmp_path, changed, part, expected):
    run = read(tmp_path, changed)
    assert run.unknown == []
    section, _, name = part.partition(".")
    assert getattr(run, section).get(name) == expected


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"training.compile": True, **FSDP}, "torch_compile"),
        ({"model.enable_liger_kernel": True, **FSDP}, "use_liger_kernel"),
        ({"model.freeze_layers": ["layers.0"], **FSDP}, "layers.0"),
        ({"model.adapter_model": "a/d", **FSDP}, "model.adapter_model"),
        ({"training.own_key": 3, **FSDP}, "training.own_key"),
        ({**FSDP, "fsdp.auto_wrap_policy": "SIZE_BASED_WRAP"}, "parts of layers"),
        (
            {**LORA, "data.train.collator_name": "vision_language_sft"},
            "adapters in the tower",
        ),
        (
            {**LORA, "peft.lora_target_modules": None},
            "places of adapters, which peft chooses",
        ),
    ],
)
def test_what_may_change_the_result(tmp_path, changed, said):
    (found,) = read(tmp_path, changed).unknown
    assert said in found


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"training.trainer_type": "TRL_GOLD"}, "a teacher runs beside"),
        ({"training.trainer_type": "VERL_GRPO"}, "verl trains"),
        ({"training.trainer_type": "OWN"}, "is not known here"),
        ({"training.optimizer": "lomo"}, "--set training.optimizer=adamw_torch"),
        ({**LORA, "peft.lora_target_parameters": ["experts"]}, "adapters of experts"),
        ({**LORA, "peft.lora_bias": "all"}, "biases that train"),
        ({**LORA, "peft.q_lora": True, "peft.q_lora_bits": 2}, "packs 4 and 8"),
        (
            {**LORA, **FSDP, "peft.q_lora": True, "peft.q_lora_bits": 8},
            "cannot be shared",
        ),
        ({"fsdp.enable_fsdp": True}, "the whole model is gathered at once"),
        ({"tuning.n_trials": 3}, "it starts many trainings"),
        ({"model.torch_dtype_str": "float64"}, "torch_dtype_str float64"),
    ],
)
def test_refusals(tmp_path, changed, said):
    with pytest.raises(Unreadable, match=said):
        read(tmp_path, changed)
    with pytest.raises(Unreadable, match="nothing trains"):
        run_of_recipe({"model": {"model_name": "a"}}, tmp_path / "eval.yaml")


@pytest.mark.parametrize(
    ("cluster", "ranks"),
    [("4x8xH100", 8), ("2x4xA100-80", 4), ("8xH100", None)],
)
def test_shards_within_a_node(tmp_path, cluster, ranks):
    inside = {**FSDP, "fsdp.sharding_strategy": "HYBRID_SHARD"}
    run = read(tmp_path, inside)
    with pytest.raises(Unreadable, match="share within a node"):
        run.text()
    run.share_in_node(*size_of(cluster))
    assert run.layout.get("shard_ranks") == ranks
    assert run.layout["sharding"] == "full"
    with pytest.raises(Unreadable, match="share within a node"):
        read(tmp_path, inside).share_in_node(*size_of("cluster.json"))


def test_deepspeed(tmp_path):
    said = {
        "deepspeed.enable_deepspeed": True,
        "deepspeed.zero_stage": "ZERO_3",
        "deepspeed.precision": "BF16",
        "deepspeed.offload_optimizer.device": "CPU",
        "deepspeed.stage3_prefetch_bucket_size": "auto",
    }
    run = read(tmp_path, said)
    assert run.framework == "deepspeed"
    assert run.arguments["zero_optimization"] == {
        "stage": 3,
        "overlap_comm": False,
        "reduce_bucket_size": 500_000_000,
        "offload_optimizer": {"device": "cpu"},
    }
    assert run.arguments["bf16"] == {"enabled": True}
    assert run.arguments["train_micro_batch_size_per_gpu"] == 2
    assert run.arguments["gradient_accumulation_steps"] == 8
    assert "deepspeed.precision without" in run.unknown[0]


JOB = {
    "name": "a",
    "num_nodes": 2,
    "resources": {"cloud": "gcp", "accelerators": "A100-80GB:4"},
    "envs": {"SIZE": 4, "OUMI_RUN_NAME": "a"},
    "setup": "pip install oumi",
    "run": (
        "set -e  # Exit if any command failed.\n"
        "oumi distributed torchrun \\\n  -m oumi train \\\n  -c configs/train.json \\\n"
        '  --training.run_name "${OUMI_RUN_NAME}.${SKYPILOT_TASK_ID}" \\\n'
        "  --training.per_device_train_batch_size ${SIZE} \\\n"
        "  --training.save_final_model=false --no-model.trust_remote_code\n"
        'echo "oumi train is done!"\n'
    ),
}


@pytest.fixture
def configs(tmp_path):
    (tmp_path / "configs").mkdir()
    said = tree_of({**FSDP, "fsdp.sharding_strategy": "HYBRID_SHARD"})
    (tmp_path / "configs" / "train.json").write_text(json.dumps(said))
    return tmp_path


def test_job_on_one_device(configs):
    said = tree_of({})
    (configs / "one.json").write_text(json.dumps(said))
    job = {**JOB, "num_nodes": None, "run": "oumi train -c one.json"}
    run = run_of_recipe(job, configs / "job.yaml")
    assert run.layout == {"recompute": "full", "sharding": "full", "data": 1}
    assert run.unknown == []


def test_job(configs):
    run = run_of_recipe(JOB, configs / "configs" / "job.yaml")
    assert run.batch == {"sequence": 4096, "micro_batch": 4, "micro_batches": 8}
    assert run.layout["shard_ranks"] == 4
    assert run.notes[-1] == "launched on 2 x 4 devices"
    assert run.unknown == []
    alone = run_of_recipe({**JOB, "num_nodes": 1}, configs / "job.yaml")
    assert "shard_ranks" not in alone.layout


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("oumi evaluate -c a.yaml", "starts no training by"),
        ("${RUN_COMMAND} -c configs/train.json", "starts no training by"),
        ("oumi train -c a.json\noumi train -c b.json", "starts several trainings"),
        ("oumi train -c configs/none.json", "is not there"),
        ("oumi train -c llama3.1-8b-sft", "is a name that oumi knows"),
        ("oumi train --training.max_steps 3", "lacks -c FILE"),
        (
            "oumi distributed torchrun -m oumi train -c configs/train.json "
            "--training.per_device_train_batch_size $OTHER",
            "is no size",
        ),
    ],
)
def test_jobs_that_are_not_read(configs, script, said):
    with pytest.raises(Unreadable, match=said):
        run_of_recipe({**JOB, "run": script}, configs / "job.yaml")


def launched(folder, line, **variables):
    command = Command(tuple(line.split()), str(folder), variables, ())
    (training,) = trainings_of([command])
    return training


def test_launches(configs):
    words = "-c oumi://configs/train.json --training.gradient_accumulation_steps 2 -v"
    one = launched(
        configs,
        f"oumi distributed torchrun -m oumi train {words}",
        SLURM_NNODES="4",
        SLURM_NTASKS_PER_NODE="8",
    )
    assert (one.program, one.nodes, one.devices) == ("oumi", 4, 8)
    run = run_of(with_words(one, ["model.model_max_length=512"]))
    assert run.batch == {"sequence": 512, "micro_batch": 2, "micro_batches": 2}
    assert run.layout["shard_ranks"] == 8
    alone = run_of(launched(configs, f"oumi train {words}"))
    assert "shard_ranks" not in alone.layout
    assert alone.layout["data"] == 1
    usual = launched(configs, f"torchrun --nproc_per_node 2 -m oumi train {words}")
    assert run_of(usual).batch["micro_batches"] == 2
    told = f"accelerate launch --config_file a.yaml -m oumi train {words}"
    assert run_of(launched(configs, told)).unknown == [
        "what accelerate is told, in place of oumi's own FSDP"
    ]
    (configs / "job.json").write_text(json.dumps(JOB))
    job = run_of(launched(configs, "oumi launch up -c job.json --num_nodes=3"))
    assert job.notes[-1] == "launched on 3 x 4 devices"
    for line in ("oumi evaluate -c a", "oumi env", "oumi distributed ls"):
        command = Command(tuple(line.split()), str(configs), {}, ())
        assert trainings_of([command]) == []
