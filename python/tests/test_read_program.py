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
    "torch_dtype": "float32",
}
LINES = PROGRAM.read_text().splitlines()
ADAPTED = 1 + next(i for i, one in enumerate(LINES) if "= get_peft_model" in one)
TORCHRUN = "torchrun --nproc_per_node 4"
LAYER = 64 * (64 + 32 + 32 + 64) + 3 * 64 * 96 + 2 * 64
ALL = 2 * 512 * 64 + 4 * LAYER + 64
ROWS = (
    "rows of the vocabulary, of which the program makes as many as its tokenizer has: "
    "--model DIR with the tokenizer's files says them"
)
ZERO = {"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto"}


def read(folder, words, start=TORCHRUN, model="model.json", **sizes):
    """The run, or None, and what is said."""
    (folder / "model.json").write_text(json.dumps({**SIZES, **sizes}))
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
    assert run["unknown"] == [ROWS]
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
    assert run["unknown"] == [ROWS, "the loop, of the program's own"]


def test_a_batch_that_ranks_split(tmp_path):
    words = "--way accelerate --split --each 8"
    run, _ = read(tmp_path, words, "accelerate launch --num_processes 4")
    assert run["batch"]["micro_batch"] == 2


def test_weights_have_the_format_of_their_configuration(tmp_path):
    """Since version 5 of transformers, where the program says none."""
    pytest.importorskip("transformers", minversion="5")
    run, _ = read(tmp_path, "", torch_dtype="bfloat16")
    assert "main-weights=16-bit" in run["program"]["fact"]
    run, _ = read(tmp_path, "", torch_dtype=None)
    assert "main-weights" not in run["program"]["fact"]
    assert run["unknown"] == [
        "the format of weights, which only their files say: 32 bits",
        ROWS,
    ]


def test_prompts_and_answers_have_a_length_each(tmp_path):
    run, said = read(tmp_path, "--max_source_length 64 --max_target_length 96")
    assert "sequence" not in run["batch"]
    assert "prompts have 64 tokens and answers 96: give --sequence" in said


def test_no_data_are_joined(tmp_path):
    pytest.importorskip("datasets")
    run, said = read(tmp_path, "--join")
    assert run["batch"]["micro_batch"] == 2
    assert "data sets to join" in said


def test_several_lengths_are_asked_for(tmp_path):
    run, said = read(tmp_path, "--cutoff_len 96")
    assert "sequence" not in run["batch"]
    assert "several lengths, cutoff_len 96, block_size 256: give --sequence" in said


def test_deepspeed_shares_what_its_file_says(tmp_path):
    run, _ = read(tmp_path, "--share zero.json")
    assert run["deepspeed"]["zero_optimization"] == {"stage": 2}
    assert run["deepspeed"]["train_micro_batch_size_per_gpu"] == 2
    assert run["deepspeed"]["gradient_accumulation_steps"] == 3
    assert run["layout"]["recompute"] == "full"


def test_a_loop_over_deepspeed(tmp_path):
    sizes = {"train_batch_size": 40, "gradient_accumulation_steps": 2}
    zero = {"zero_optimization": {"stage": 2}, "bf16": {"enabled": True}, **sizes}
    (tmp_path / "own.json").write_text(json.dumps(zero))
    run, _ = read(tmp_path, "--way deepspeed --share own.json")
    assert {key: run["deepspeed"][key] for key in sizes} == sizes
    assert "train_micro_batch_size_per_gpu" not in run["deepspeed"]
    assert run["deepspeed"]["zero_optimization"] == {"stage": 2}
    assert run["counted"] == {"parameters": ALL, "trained": ALL}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--way loop", "it ended, and no optimizer stepped after its backwards"),
        ("--way none", "it ended, and had started no training"),
        ("--where", "its arguments: unrecognized arguments: --where"),
        ("--thin 8 --places nowhere", f"own_words.py:{ADAPTED}: "),
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


def test_a_model_of_predict_is_no_configuration(tmp_path):
    run, said = read(tmp_path, "", model="llama2-7b")
    assert run is None
    assert "--model llama2-7b: with --run-program it is a config.json" in said


RING = PROGRAM.parent / "own_code"


def test_code_that_comes_with_weights(tmp_path):
    words = "--trust --thin 4 --places query_key_value,dense,dense_h_to_4h"
    run, said = read(tmp_path, words, model=str(RING))
    named = "4,qkv_proj,o_proj,gate_up_proj,train=head"
    assert run["program"]["lora"] == named
    thin = 4 * (64 + 128) + 4 * (64 + 64) + 4 * (64 + 192)
    layer = 64 * 128 + 64 * 64 + 3 * 64 * 96
    assert run["counted"] == {
        "parameters": 2 * 512 * 64 + 3 * layer,
        "trained": 512 * 64 + 3 * thin,
    }
    assert "package_of_generation" in said


def test_code_that_is_not_here_is_asked_for(tmp_path):
    text = (RING / "config.json").read_text()
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "config.json").write_text(text)
    run, said = read(tmp_path, "--trust", model="alone")
    assert run is None
    assert "configuration_ring.py, code that comes with own/brain, is not" in said


def test_what_is_absent_is_taken_apart_as_a_line_names_it():
    from ashlar_pp.read.programs.absent import Absent

    first, second = Absent()
    one, (two, three, four) = Absent(), Absent()
    assert len({id(each) for each in (first, second, one, two, three, four)}) == 6
    assert len(list(Absent())) == 1
    assert dict(**Absent()) == {}
    del Absent()["columns"]
