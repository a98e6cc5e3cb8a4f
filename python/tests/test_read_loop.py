"""Loops and models of a program's own, read by one step without values."""

import json
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("numpy")

PROGRAM = pathlib.Path(__file__).parent / "programs" / "own_loop.py"
TORCHRUN = "torchrun --nproc_per_node 4"
WIDE, WORDS, LAYERS = 32, 96, 3
LAYER = 4 * WIDE * WIDE + 8 * WIDE * WIDE + 5 * WIDE + 4 * WIDE
ALL = WORDS * WIDE + 64 * WIDE + LAYERS * LAYER + 2 * WIDE


def read(folder, words, start=TORCHRUN):
    """The run, or None, and what is said."""
    (folder / "run.sh").write_text(f"{start} {PROGRAM} {words}\n")
    said = [sys.executable, "-m", "ashlar_pp.read", "launch", "--run-program"]
    said += ["--timeout", "300", "-o", "run.json", "--", "bash", "run.sh"]
    done = subprocess.run(said, cwd=folder, capture_output=True, text=True)
    run = folder / "run.json"
    assert (done.returncode == 0) == run.is_file(), done.stderr
    return (json.loads(run.read_text()) if run.is_file() else None), done.stderr


def test_copies_that_sum_once(tmp_path):
    run, said = read(tmp_path, "")
    assert run["batch"] == {"sequence": 48, "micro_batch": 3, "micro_batches": 4}
    assert run["layout"] == {"sharding": "none"}
    assert run["program"]["precision"] == "bf16"
    assert run["program"]["attention"] == "sdpa"
    assert run["counted"] == {"parameters": ALL, "trained": ALL}
    assert run["unknown"] == ["the loop, of the program's own"]
    assert "not on this machine: texts/train.bin" in said
    assert "5 forwards without gradients" in said


def test_the_module_is_counted_as_pytorch_counts_it(tmp_path):
    run, _ = read(tmp_path, "--plain")
    made = run["model"]["architecture"]
    layer = {
        "mix": {"kind": "attention", "heads": 4, "groups": 4, "head": 8},
        "feed": {"kind": "dense", "is_gated": False, "width": 4 * WIDE},
    }
    (kind,) = made["kinds"]
    assert {key: layer[key].items() <= kind[key].items() for key in layer} == {
        "mix": True,
        "feed": True,
    }
    assert (made["hidden"], made["vocabulary"], made["is_tied"]) == (WIDE, WORDS, True)
    assert made["layers"] == [0] * LAYERS
    assert run["program"]["attention"] == "unfused"
    assert run["model"]["operations"] == counted(48)


def counted(length):
    """Of one forward of the program's module, by PyTorch's own counter."""
    from torch.utils.flop_counter import FlopCounterMode

    text = PROGRAM.read_text().partition("is_one_of_many =")[0]
    code = compile(text, PROGRAM, "exec")
    names, words = {}, sys.argv
    sys.argv = [str(PROGRAM), "--plain"]
    try:
        exec(code, names)
    finally:
        sys.argv = words
    with FlopCounterMode(display=False) as counter:
        names["Model"]()(torch.zeros(1, length, dtype=torch.long))
    return counter.get_total_flops()


@pytest.mark.parametrize(
    ("words", "layout", "scatters"),
    [
        ("--share fsdp", {"sharding": "full"}, True),
        ("--share fsdp --sum-each", {"sharding": "full"}, False),
        ("--share fully_shard", {"sharding": "full"}, True),
        ("--share fully_shard --rounds 1", {"sharding": "full"}, False),
    ],
)
def test_shards(tmp_path, words, layout, scatters):
    run, _ = read(tmp_path, f"{words} --again all")
    assert run["layout"] == {"recompute": "full", **layout}
    assert run["program"]["precision"] == "bf16"
    assert run["program"].get("scatter_once", False) == scatters
    assert "main-weights" not in run["program"].get("fact", "")


def test_weights_in_16_bits(tmp_path):
    run, _ = read(tmp_path, "--pure --sum-each")
    assert run["program"]["precision"] == "bf16"
    assert "main-weights=16-bit" in run["program"]["fact"]
    assert "gradients are summed after each of 4 backwards" in run["unknown"]


def test_fabric_of_lightning(tmp_path):
    pytest.importorskip("lightning.fabric")
    run, said = read(tmp_path, "--share fabric", start="python")
    assert run["layout"] == {"recompute": "full", "sharding": "full"}
    assert run["program"]["precision"] == "bf16"
    assert run["program"]["scatter_once"] is True
    assert "main-weights=16-bit" in run["program"]["fact"]
    assert "own_loop.py trains on 4 ranks" in said


def test_plain_python_is_one_rank(tmp_path):
    run, said = read(tmp_path, "--begins first.pt", start="python")
    assert run["layout"] == {"sharding": "none", "data": 1}
    assert "not on this machine: first.pt, texts/train.bin" in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--share none", "it starts 4 ranks, and no wrapper that is read sums"),
        ("--share whole", "its FSDP does not gather each layer by itself"),
        ("--again part", "it recomputes other parts than each layer by itself"),
        ("--odd optimizer", "optim __main__.AdamW"),
        ("--odd amsgrad", "amsgrad keeps a third state of each parameter"),
        ("--odd two", "optimizers of its parameters step apart from each other"),
        ("--odd other", "its optimizer has parameters of other modules, too"),
        ("--odd second", "runs a second model beside the first"),
        ("--odd lengths", "a step has forwards of 2 modules or shapes"),
        ("--odd lengths --rounds 3", "its steps differ"),
        ("--odd later", "its steps have forwards of 2 shapes"),
        ("--odd penalty", "a step has 8 forwards and 4 backwards"),
        ("--begins first.pt --odd state", "first.pt, which is more than weights"),
        ("--asks", "texts/words.json, in a folder whose data are not here"),
    ],
)
def test_other_steps_are_refused(tmp_path, words, told):
    run, said = read(tmp_path, words)
    assert run is None
    assert told in said


def test_a_file_of_data_that_is_here_is_read(tmp_path):
    numpy = pytest.importorskip("numpy")
    (tmp_path / "texts").mkdir()
    numpy.zeros(500, numpy.uint16).tofile(tmp_path / "texts" / "train.bin")
    run, said = read(tmp_path, "--asks --long 40")
    assert run["batch"]["sequence"] == 40
    assert "not on this machine" not in said
