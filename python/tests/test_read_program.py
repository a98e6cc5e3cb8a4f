"""Programs with words of their own, read by the objects that they make."""

import json
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

PROGRAM = pathlib.Path(__file__).parent / "programs" / "own_words.py"
SIZES = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 512,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "tie_word_embeddings": False,
}
LAYER = 64 * (64 + 32 + 32 + 64) + 3 * 64 * 96 + 2 * 64
ALL = 2 * 512 * 64 + 4 * LAYER + 64
ZERO = {"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto"}


def read(folder, words, start="torchrun --nproc_per_node 4", model="model.json"):
    """The run, or None, and what is said."""
    (folder / "model.json").write_text(json.dumps(SIZES))
    (folder / "zero.json").write_text(json.dumps(ZERO))
    line = f"{start} {PROGRAM} --brain own/brain --text none.json {words}\n"
    (folder / "run.sh").write_text(line)
    said = [sys.executable, "-m", "ashlar_pp.read", "launch", "--run-program"]
    said += ["--timeout", "300", "-o", "run.json"]
    said += ["--model", model] if model else []
    done = subprocess.run(
        [*said, "--", "bash", "run.sh"], cwd=folder, capture_output=True, text=True
    )
    run = folder / "run.json"
    assert (done.returncode == 0) == run.is_file(), done.stderr
    return (json.loads(run.read_text()) if run.is_file() else None), done.stderr


def test_the_whole_model_trains(tmp_path):
    run, said = read(tmp_path, "--each 2 --steps 3")
    assert run["batch"] == {"sequence": 256, "micro_batch": 2, "micro_batches": 3}
    assert run["layout"] == {"recompute": "full", "sharding": "none"}
    assert run["program"]["precision"] == "bf16"
    assert "main-weights" not in run["program"]["fact"]
    assert run["counted"] == {"parameters": ALL, "trained": ALL}
    assert run["model"]["hidden_size"] == 64
    assert "unknown" not in run
    assert "not on this machine: none.json, own/brain, the tokenizer of own/brain" in (
        said
    )


def test_weights_in_16_bits_are_the_optimizers(tmp_path):
    run, _ = read(tmp_path, "--pure")
    fact = "main-weights=16-bit,first-moment=16-bit,second-moment=16-bit"
    assert fact in run["program"]["fact"]


def test_adapters_and_a_copy_of_the_head(tmp_path):
    run, _ = read(tmp_path, "--thin 8 --places q_proj,up_proj")
    assert run["program"]["lora"] == "8,q_proj,up_proj,train=head"
    thin = 8 * (64 + 64) + 8 * (64 + 96)
    assert run["counted"] == {"parameters": ALL, "trained": 4 * thin + 512 * 64}
    assert any("frozen weights in 32 bits" in each for each in run["unknown"])


def test_layers_that_train_alone(tmp_path):
    run, _ = read(tmp_path, "--only layers.2.")
    assert run["program"]["train_only"] == "layers=2"
    assert run["counted"] == {"parameters": ALL, "trained": LAYER}


def test_a_part_of_a_layer_is_refused(tmp_path):
    run, said = read(tmp_path, "--only mlp")
    assert run is None
    assert "a part of a layer trains" in said


def test_a_loop_over_accelerate(tmp_path):
    run, _ = read(tmp_path, "--way accelerate", "accelerate launch --num_processes 4")
    assert run["batch"] == {"sequence": 256, "micro_batch": 2, "micro_batches": 3}
    assert run["program"]["precision"] == "bf16"
    assert "recompute" not in run["layout"]
    assert run["counted"] == {"parameters": ALL, "trained": ALL}
    assert run["unknown"] == ["the loop, of the program's own"]


def test_deepspeed_shares_what_its_file_says(tmp_path):
    run, _ = read(tmp_path, "--share zero.json")
    assert run["deepspeed"]["zero_optimization"] == {"stage": 2}
    assert run["deepspeed"]["train_micro_batch_size_per_gpu"] == 2
    assert run["deepspeed"]["gradient_accumulation_steps"] == 3
    assert run["layout"]["recompute"] == "full"


def test_a_loop_over_deepspeed(tmp_path):
    zero = {**ZERO, "train_micro_batch_size_per_gpu": 5, "bf16": {"enabled": True}}
    (tmp_path / "own.json").write_text(json.dumps(zero))
    run, _ = read(tmp_path, "--way deepspeed --share own.json")
    assert run["deepspeed"]["train_micro_batch_size_per_gpu"] == 5
    assert run["deepspeed"]["zero_optimization"] == {"stage": 2}
    assert run["counted"] == {"parameters": ALL, "trained": ALL}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--way loop", "it trains by a loop of its own"),
        ("--way none", "it ended, and had started no training"),
        ("--where", "its arguments: unrecognized arguments: --where"),
        ("--thin 8 --places nowhere", "own_words.py:39: "),
    ],
)
def test_what_comes_to_no_training_is_refused(tmp_path, words, told):
    run, said = read(tmp_path, words)
    assert run is None
    assert told in said


def test_a_model_that_is_not_here_is_asked_for(tmp_path):
    run, said = read(tmp_path, "", model="")
    assert run is None
    assert "own/brain" in said
    assert "--model" in said
