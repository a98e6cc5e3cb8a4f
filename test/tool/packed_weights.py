#!/usr/bin/env python3
"""Packed weights of `--frozen-weights` take the bytes that bitsandbytes' own objects have.

usage: packed_weights.py ASHLAR

Models of a few narrow layers are packed on the CPU, as transformers packs them: all linear layers but the head. Skipped (77) without
bitsandbytes, transformers and PyTorch.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    from bitsandbytes.nn import Linear4bit, Linear8bitLt
    from transformers import AutoConfig, AutoModelForCausalLM
except ImportError:
    sys.exit(77)

SMALL = {"num_hidden_layers": 3, "hidden_size": 256, "intermediate_size": 704, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 32,
         "vocab_size": 1000, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
KINDS = ["llama", "mistral", "qwen2", "qwen3", "gemma2", "olmo2", "granite"]
CASES = {"4-bit": {"compress_statistics": False}, "4-bit,double": {"compress_statistics": True}, "8-bit": None}


def packed(linear: torch.nn.Linear, statistics) -> int:
    """Bytes of a linear layer as bitsandbytes holds it."""
    sizes = (linear.in_features, linear.out_features)
    if statistics is None:
        made = Linear8bitLt(*sizes, bias=False, has_fp16_weights=False)
    else:
        made = Linear4bit(*sizes, bias=False, quant_type="nf4", **statistics)
    made.weight.data = linear.weight.data
    made.to("cpu")
    weight = made.weight
    held = [weight]
    if statistics is None:
        held.append(weight.SCB)
    else:
        state = weight.quant_state
        held.extend([state.absmax] + ([state.state2.absmax] if state.nested else []))
    return sum(each.numel() * each.element_size() for each in held)


def predicted(file: Path, words: str) -> float:
    line = [sys.argv[1], "predict", "--model", str(file), "--cluster", "1xH100", "--sequence", "64", "--batch", "1", "--lora", "1,o_proj",
            "--frozen-weights", words, "--as", "json"]
    ran = subprocess.run(line, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    return answer["memory"][0]["parameters"] - 2 * answer["trained_parameters"]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.json"
        for kind in KINDS:
            config = AutoConfig.for_model(kind, **SMALL)
            file.write_text(json.dumps(config.to_dict(), default=str))
            model = AutoModelForCausalLM.from_config(config)
            head = model.get_output_embeddings()
            linear = [each for each in model.modules() if isinstance(each, torch.nn.Linear) and each is not head]
            others = model.num_parameters() - sum(each.weight.numel() for each in linear)
            # ashlar pads the tables to a multiple of 128 rows.
            tied = config.tie_word_embeddings
            padding = (1024 - SMALL["vocab_size"]) * SMALL["hidden_size"] * (1 if tied else 2)
            for words, statistics in CASES.items():
                own = 2 * (others + padding) + sum(packed(each, statistics) for each in linear)
                said = predicted(file, words)
                # Norms outside of the layers are not counted on a device.
                assert abs(said - own) <= 2 * SMALL["hidden_size"], (kind, words, own, said)
    print(f"{len(KINDS)} types, {len(CASES)} formats")


main()
