"""Megatron-LM."""

import json
import subprocess
from pathlib import Path

from launch_reading import ASHLAR, GPT, of_script

# Parameters: GPT-2 medium's, with all norms, biases and positions.
COUNTED = {
    GPT: 354_823_168,
    GPT.replace("-", "_").replace("__", "--"): 354_823_168,
}

# Older arguments that say shares of layers, and the layers that Megatron-LM's own code deals for them.
PATTERNS = {
    "--num-layers 24 --hybrid-attention-ratio 0.08 --hybrid-mlp-ratio 0.5": "M-M-M--*M-M-M-M-*M--M-M-",
    "--num-layers 10 --hybrid-attention-ratio 0.3 --hybrid-mlp-ratio 0.2 --is-hybrid-model": "MM*M-*M*M-",
    "--num-layers 5 --is-hybrid-model": "MMMMM",
}

WRITTEN = {
    f"torchrun pretrain_gpt.py {GPT} --num-query-groups 4": {"megatron.group-query-attention": None},
}

REFUSED = {
    f"torchrun pretrain_gpt.py {GPT} --own-attention-heads 4": "tells of a model",
    f"torchrun pretrain_gpt.py {GPT} --spec own.layers get": "a function makes the layers",
    f"X=1\ntorchrun pretrain_gpt.py \\\n {GPT} \\\n --own_attention_heads 4": "line 4: --own-attention-heads is not known",
    f"torchrun pretrain_gpt.py {GPT} --yaml-cfg a.yaml": "line 1: --yaml-cfg a.yaml: the arguments are in that file",
    f"torchrun pretrain_gpt.py {GPT} --gradient-accumulation-steps 2": "of neither kind",
    f"B=$3\ntorchrun pretrain_gpt.py {GPT} --global-batch-size $B": "line 2 takes it from $B, which line 1 takes from argument 3",
    f"torchrun generate_samples_gpt.py {GPT}": "it generates",
    f"torchrun tools/run_text_generation_server.py {GPT}": "it generates",
    f"python train_tokenizer.py {GPT}": "it makes files",
    f"python tasks/main.py --task RETRIEVER-EVAL {GPT}": "it evaluates",
}


def check(folder):
    run, said = of_script(folder, f"torchrun pretrain_gpt.py {GPT} --own-heads 4 --ignore-me", "--ignore", "own-heads")
    assert run is not None and "own-heads" not in run["megatron"], said  # what is set aside by name is not read
    run, said = of_script(folder, f"torchrun pretrain_gpt.py {GPT} --spec own.layers get", "--model", "llama3-8b")
    assert run is not None and run["model"] == "llama3-8b", said
    check_parameters(folder)
    check_patterns(folder)


def check_parameters(folder):
    for words, count in COUNTED.items():
        run, said = of_script(folder, f"torchrun pretrain_gpt.py {words}")
        assert run is not None, said
        ran = subprocess.run([ASHLAR, "predict", "--run", str(Path(folder, "run.json")), "--cluster", "8xA100-80", "--as", "json"],
                             capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        assert json.loads(ran.stdout)["parameters"] == count, (words, json.loads(ran.stdout)["parameters"])


def check_patterns(folder):
    """Both ways, as the pattern itself."""
    size = GPT.partition(" --hidden-size")[2]
    script = Path(folder, "run.sh")
    for words, pattern in PATTERNS.items():
        layers = " ".join(words.split()[:2])
        said = [f"{words} --hidden-size{size}", f"{layers} --hybrid-override-pattern {pattern} --hidden-size{size}"]
        found = []
        for each in said:
            run, why = of_script(folder, f"torchrun pretrain_mamba.py {each}")
            assert run is not None, why
            for given in ("--run", Path(folder, "run.json")), ("--megatron", script):
                ran = subprocess.run([ASHLAR, "predict", *map(str, given), "--cluster", "8xA100-80", "--as", "run"], capture_output=True, text=True)
                assert ran.returncode == 0, ran.stderr
                found.append(json.loads(ran.stdout)["model"]["architecture"])
        assert all(each == found[0] for each in found), (words, found)
