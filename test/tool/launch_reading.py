"""Runs `python -m ashlar_pp.read` for the kinds of launch files, from a program whose words are ASHLAR and ROOT."""
import json
import subprocess
import sys
from pathlib import Path

ASHLAR = sys.argv[1]
ROOT = Path(sys.argv[2]).resolve()
PACKAGE = ROOT / "python" / "ashlar_pp"  # whose extension is not built here
sys.path.insert(0, str(PACKAGE))

GPT = ("--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 "
       "--micro-batch-size 4 --global-batch-size 64 --vocab-size 50257 --fp16")
LLAMA = "--per_device_train_batch_size 2 --gradient_accumulation_steps 4 --max_seq_length 2048 --bf16 True --output_dir o --overwrite_output_dir True"


def part(run, name):
    for key in name.split("."):
        run = run.get(key) if isinstance(run, dict) else run[int(key)] if isinstance(run, list) else None
    return run


def read(noun, folder, words):
    """The run that the command line writes, or None; and what it says."""
    out = Path(folder, "run.json")
    out.unlink(missing_ok=True)
    line = [sys.executable, "-c", "import sys; from read.__main__ import main; sys.exit(main(sys.argv[1:]))", noun, "-o", str(out), *words]
    ran = subprocess.run(line, capture_output=True, text=True, cwd=folder, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(PACKAGE), "HOME": folder})
    assert (ran.returncode == 0) == out.exists(), ran.stderr
    return (json.loads(out.read_text()) if out.exists() else None), ran.stderr


def of_script(folder, script, *options):
    Path(folder, "run.sh").write_text(script + "\n")
    return read("launch", folder, [*options, "--", "bash", "run.sh"])


def check_run(case, run, said, expected):
    """`expected` is a part of the error, or parts of the run."""
    if isinstance(expected, str):
        assert run is None and expected in said, (case, said)
        return
    assert run is not None, (case, said)
    for name, value in expected.items():
        assert part(run, name) == value, (case, name, part(run, name), run)
