"""Configurations of torchtune, and what `tune run` starts: ashlar_pp.read."""

import json
import textwrap

import pytest

from ashlar_pp.read.launch import with_words
from ashlar_pp.read.recipes import run_of_recipe
from ashlar_pp.read.run_file import Unreadable
from ashlar_pp.read.scripts.launchers import trainings_of
from ashlar_pp.read.scripts.recording import Command
from ashlar_pp.read.trainings import run_of

BASE = {
    "model": {"_component_": "torchtune.models.llama3_1.llama3_1_8b"},
    "tokenizer": {
        "_component_": "torchtune.models.llama3.llama3_tokenizer",
        "max_seq_len": 4096,
    },
    "checkpointer": {
        "_component_": "torchtune.training.FullModelHFCheckpointer",
        "checkpoint_dir": "/none",
        "model_type": "LLAMA3",
    },
    "dataset": {"_component_": "torchtune.datasets.alpaca_dataset", "packed": True},
    "optimizer": {"_component_": "torch.optim.AdamW", "fused": True},
    "loss": {"_component_": "torchtune.modules.loss.LinearCrossEntropyLoss"},
    "batch_size": 2,
    "batch_size_val": "${batch_size}",
    "gradient_accumulation_steps": 8,
    "compile": False,
    "dtype": "bf16",
    "enable_activation_checkpointing": True,
}
LORA = {
    "_component_": "torchtune.models.llama3_1.lora_llama3_1_8b",
    "lora_attn_modules": ["q_proj", "v_proj", "output_proj"],
    "apply_lora_to_mlp": True,
    "lora_rank": 16,
    "lora_alpha": 32,
}
IN_16_BITS = "main-weights=16-bit,first-moment=16-bit,second-moment=16-bit"


def read(folder, remark="", **changed):
    path = folder / "own.yaml"
    path.write_text(remark)
    tree = {key: value for key, value in {**BASE, **changed}.items() if value != ""}
    return run_of_recipe(tree, path)


def test_state_of_several_devices(tmp_path):
    run = read(tmp_path)
    assert run.batch == {"sequence": 4096, "micro_batch": 2, "micro_batches": 8}
    assert run.layout == {"sharding": "full", "recompute": "full"}
    assert run.program == {
        "precision": "bf16",
        "stack": "torchtitan",
        "fact": "fused-norm=off,loss=fused," + IN_16_BITS,
    }
    assert run.unknown == [
        "how ranks share the state, which the recipe says: taken to be as in "
        "torchtune's own recipes for several devices"
    ]
    assert any("torchtune.models.llama3_1.llama3_1_8b" in note for note in run.notes)


def test_recipe_of_remarks(tmp_path):
    said = "# tune run --nproc_per_node 2 lora_finetune_distributed --config a/b\n"
    assert read(tmp_path, said).unknown == []
    said = "#   tune run full_finetune_single_device --config llama2/7B_low_memory\n"
    assert read(tmp_path, said).layout["data"] == 1
    # Two of them say nothing.
    both = said + "# tune run full_finetune_distributed --config a\n"
    assert "data" not in read(tmp_path, both).layout


@pytest.mark.parametrize(
    ("changed", "part", "expected"),
    [
        ({"model": LORA}, "program.lora", "16,q_proj,v_proj,o_proj,mlp"),
        (
            {"model": {**LORA, "apply_lora_to_output": True}},
            "program.lora",
            "16,q_proj,v_proj,o_proj,mlp,lm_head",
        ),
        (
            {"model": {**LORA, "quantize_base": True}},
            "program.frozen_weights",
            "4-bit,double",
        ),
        (
            {
                "model": {
                    **LORA,
                    "_component_": "torchtune.models.llama3_1.qlora_llama3_1_8b",
                }
            },
            "program.frozen_weights",
            "4-bit,double",
        ),
        (
            {"optimizer": {"_component_": "bitsandbytes.optim.PagedAdamW8bit"}},
            "program.fact",
            "fused-norm=off,loss=fused,main-weights=16-bit,first-moment=8-bit,"
            "second-moment=8-bit",
        ),
        (
            {"optimizer": {"_component_": "bitsandbytes.optim.PagedAdamW"}},
            "program.fact",
            "fused-norm=off,loss=fused,main-weights=16-bit",
        ),
        ({"dtype": "fp32"}, "program.fact", "fused-norm=off,loss=fused"),
        (
            {"compile": True},
            "program.fact",
            "fused-activation=on,fused-rotation=on,loss=fused," + IN_16_BITS,
        ),
        (
            {"compile": {"model": False, "loss": True}},
            "program.fact",
            "fused-norm=off,loss=fused," + IN_16_BITS,
        ),
        ({"enable_fp8_training": True}, "program.precision", "fp8"),
        ({"fsdp_cpu_offload": True}, "layout.offload_weights", "own"),
        ({"fsdp_reshard_after_forward": False}, "layout.sharding", "gradients"),
        ({"tensor_parallel_dim": 4}, "layout.tensor", 4),
        ({"context_parallel_dim": 2}, "layout.context", 2),
        (
            {
                "data_parallel_replicate_dim": 2,
                "data_parallel_shard_dim": 4,
                "context_parallel_dim": 2,
            },
            "layout.shard_ranks",
            8,
        ),
        ({"enable_activation_offloading": True}, "layout.offload_activations", "full"),
        ({"ac_mode": "selective", "ac_option": 2}, "layout.recompute", None),
        (
            {
                "enable_activation_checkpointing": False,
                "ac_mode": "selective",
                "ac_option": "op",
            },
            "layout.recompute",
            "op",
        ),
        (
            {
                "loss": {"_component_": "torchtune.rlhf.loss.DPOLoss", "beta": 0.1},
                "ref_checkpointer": {"checkpoint_dir": "/none"},
            },
            "batch.micro_batch",
            4,
        ),
        (
            {"loss": {"_component_": "torchtune.rlhf.loss.DPOLoss"}},
            "program.frozen_copy",
            True,
        ),
        (
            {"batch_size": "${batch_size_val}", "batch_size_val": 6},
            "batch",
            {"sequence": 4096, "micro_batch": 6, "micro_batches": 8},
        ),
    ],
)
def test_values(tmp_path, changed, part, expected):
    run = read(tmp_path, "# tune run full_finetune_distributed --config a\n", **changed)
    assert run.unknown == []
    section, _, name = part.partition(".")
    found = getattr(run, section)
    assert (found.get(name) if name else found) == expected


def test_teacher(tmp_path):
    """By the configuration of its checkpoint, or by its name, which asks for it."""
    changed = {
        "teacher_model": {"_component_": "torchtune.models.llama3_1.llama3_1_405b"},
        "teacher_checkpointer": {"checkpoint_dir": str(tmp_path)},
        "kd_loss": {"_component_": "torchtune.modules.loss.ForwardKLLoss"},
        "kd_ratio": 0.5,
    }
    remark = "# tune run knowledge_distillation_distributed --config a\n"
    run = read(tmp_path, remark, **changed)
    assert run.program["teacher"] == "torchtune.models.llama3_1.llama3_1_405b"
    assert any("--teacher" in note for note in run.notes)
    config = {"model_type": "llama", "num_hidden_layers": 2}
    (tmp_path / "config.json").write_text(json.dumps(config))
    run = read(tmp_path, remark, **changed)
    assert run.program["teacher"] == config
    assert run.unknown == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model": {**LORA, "use_dora": True}}, "use_dora"),
        ({"policy_model": {"_component_": "a"}}, "a value model trains beside"),
        ({"grpo_samples": 4}, "GRPO generates"),
        (
            {"quantizer": {"_component_": "a.Int8DynActInt4WeightQATQuantizer"}},
            "rounded before",
        ),
        ({"optimizer": ""}, "nothing trains"),
        ({"optimizer": {"_component_": "torch.optim.SGD"}}, "only the state of Adam"),
        (
            {"optimizer": {"_component_": "torch.optim.AdamW", "amsgrad": True}},
            "only the state of Adam",
        ),
        ({"dtype": "fp16"}, "recipes stop"),
        ({"model": {**LORA, "encoder_trainable": "lora"}}, "train in part"),
        (
            {"model": {"_component_": "torchtune.models.llama2.llama2_reward_7b"}},
            "another head",
        ),
        ({"data_parallel_replicate_dim": 2}, "how many ranks share"),
        (
            {"fsdp_cpu_offload": True, "fsdp_reshard_after_forward": False},
            "without fsdp_reshard_after_forward",
        ),
        (
            {
                "enable_activation_checkpointing": False,
                "ac_mode": "selective",
                "ac_option": 2,
            },
            "ac_option 2",
        ),
    ],
)
def test_refusals(tmp_path, changed, said):
    with pytest.raises(Unreadable, match=said):
        read(tmp_path, **changed)


@pytest.mark.parametrize(
    ("loss", "compiles", "fact", "unknown"),
    [
        ("modules.loss.LinearCrossEntropyLoss", False, True, 0),
        ("modules.loss.CEWithChunkedOutputLoss", True, True, 0),
        ("modules.loss.CEWithChunkedOutputLoss", False, True, 1),
        ("nn.CrossEntropyLoss", True, False, 0),
    ],
)
def test_losses(tmp_path, loss, compiles, fact, unknown):
    said = "# tune run full_finetune_distributed --config a\n"
    part = {"_component_": "torchtune." + loss}
    run = read(tmp_path, said, loss=part, compile=compiles)
    assert ("loss=fused" in run.program["fact"]) == fact
    assert len(run.unknown) == unknown


def test_softmax_of_chunks_is_kept():
    """LinearCrossEntropyLoss by torch's own functions: 4 bytes a logit are saved."""
    torch = pytest.importorskip("torch")
    tokens, width, words, chunks = 64, 16, 512, 8
    head = torch.nn.Linear(width, words, bias=False, dtype=torch.bfloat16)
    hidden = torch.randn(tokens, width, dtype=torch.bfloat16, requires_grad=True)
    target = torch.zeros(tokens, dtype=torch.long)
    saved = {}

    def keep(tensor):
        if tensor.numel() == tokens // chunks * words:
            saved[tensor.data_ptr()] = tensor.nbytes
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        losses = [
            torch.nn.functional.cross_entropy(head(one).float(), said, reduction="sum")
            for one, said in zip(hidden.chunk(chunks), target.chunk(chunks))
        ]
    assert len(losses) == chunks
    assert sum(saved.values()) == 4 * tokens * words


def test_what_may_change_the_result(tmp_path):
    said = "# tune run full_finetune_single_device --config a\n"
    run = read(tmp_path, said, optimizer_in_bwd=True, resize_token_embeddings=True)
    assert [one.partition(":")[0] for one in run.unknown] == [
        "optimizer_in_bwd",
        "resize_token_embeddings",
    ]


BUILDERS = """
    from functools import partial
    from torchtune.models.llama3_1._component_builders import llama3_1, lora_llama3_1
    raise SystemExit("it is read, and not run")

    def llama3_1_8b():
        return llama3_1(vocab_size=128_256, num_layers=32, num_heads=32, num_kv_heads=8,
                        embed_dim=4096, max_seq_len=131072, intermediate_dim=14336)

    def lora_llama3_1_8b(lora_attn_modules, lora_rank=8):
        return lora_llama3_1(lora_attn_modules=lora_attn_modules, vocab_size=128_256,
                             num_layers=32, num_heads=32, num_kv_heads=8,
                             embed_dim=4096, max_seq_len=131072, lora_rank=lora_rank)

    def odd(size):
        return llama3_1(vocab_size=size, num_layers=32)
"""
ALIASES = """
    from torchtune.models.llama3_1._model_builders import llama3_1_8b
    llama3_3_8b = llama3_1_8b
"""


@pytest.fixture
def checkout(tmp_path):
    for name, text in (("llama3_1", BUILDERS), ("llama3_3", ALIASES)):
        folder = tmp_path / "torchtune" / "models" / name
        folder.mkdir(parents=True)
        (folder / "_model_builders.py").write_text(textwrap.dedent(text))
    (tmp_path / "torchtune" / "_recipe_registry.py").write_text("")
    configs = tmp_path / "recipes" / "configs" / "llama3_1"
    configs.mkdir(parents=True)
    (configs / "8B_lora.yaml").write_text(json.dumps({**BASE, "model": LORA}))
    return tmp_path


@pytest.mark.parametrize(
    ("builder", "width"),
    [
        ("llama3_1.llama3_1_8b", 14336),
        ("llama3_3.llama3_3_8b", 14336),
        # torchtune's own rule: 4 x 2/3 of 4096, up to a multiple of 256.
        ("llama3_1.lora_llama3_1_8b", 11008),
        ("llama3_1.qlora_llama3_1_8b", 11008),
    ],
)
def test_sizes_by_the_source_of_builders(checkout, builder, width):
    model = {**LORA, "_component_": "torchtune.models." + builder}
    run = read(checkout, model=model)
    assert run.model == {
        "model_type": "llama",
        "vocab_size": 128256,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "hidden_size": 4096,
        "intermediate_size": width,
        "tie_word_embeddings": False,
    }


@pytest.mark.parametrize(
    ("component", "said", "expected"),
    [
        ("qwen3.qwen3", {"q_norm": True}, None),  # with biases: no Qwen 3
        ("qwen2.qwen2", {"q_proj_bias": False}, None),
        ("qwen2.qwen2", {}, ("qwen2", False)),
        ("llama3_2.llama3_2", {}, ("llama", True)),
        ("llama3_2.llama3_2", {"tie_word_embeddings": False}, ("llama", False)),
        ("gemma.gemma", {}, ("gemma", True)),
        ("mamba.mamba", {}, None),
    ],
)
def test_sizes_of_components(tmp_path, component, said, expected):
    sizes = {
        "vocab_size": 512,
        "num_layers": 2,
        "num_heads": 4,
        "num_kv_heads": 2,
        "embed_dim": 64,
        "intermediate_dim": 96,
        "max_seq_len": 128,
    }
    component = "torchtune.models." + component
    run = read(tmp_path, model={"_component_": component, **sizes, **said})
    if expected is None:
        assert run.model is None
        return
    assert run.model is not None
    made = (run.model["model_type"], run.model["tie_word_embeddings"])
    assert made == expected


def launched(folder, line):
    (training,) = trainings_of([Command(tuple(line.split()), str(folder), {}, ())])
    return training


def test_tune_run(checkout):
    one = launched(
        checkout,
        "tune run --nnodes 2 --nproc_per_node=4 lora_finetune_distributed --config "
        "llama3_1/8B_lora batch_size=4 model.lora_rank=64 ~dataset "
        "optimizer=bitsandbytes.optim.PagedAdamW8bit data_parallel_replicate_dim=2",
    )
    assert (one.nodes, one.devices) == (2, 4)
    run = run_of(with_words(one, ["tokenizer.max_seq_len=1024"]))
    assert run.batch == {"sequence": 1024, "micro_batch": 4, "micro_batches": 8}
    assert run.program["lora"] == "64,q_proj,v_proj,o_proj,mlp"
    assert "first-moment=8-bit" in run.program["fact"]
    assert run.layout["shard_ranks"] == 4
    assert run.unknown == []


def test_tune_run_on_one_device(checkout):
    line = "tune run lora_finetune_single_device --config llama3_1/8B_lora"
    one = launched(checkout, line)
    assert (one.nodes, one.devices) == (1, 1)
    assert run_of(one).layout["data"] == 1
    own = launched(checkout, line.replace("lora_finetune_single_device", "my/own.py"))
    assert "which my/own.py says" in run_of(own).unknown[0]


def test_what_tune_does_not_train(checkout):
    assert trainings_of([Command(("tune", "ls"), str(checkout), {}, ())]) == []
    with pytest.raises(Unreadable, match="which is not on this machine"):
        run_of(launched("/", "tune run full_finetune_distributed --config a/b"))
    with pytest.raises(Unreadable, match="needs --config FILE"):
        run_of(launched(checkout, "tune run full_finetune_distributed"))
