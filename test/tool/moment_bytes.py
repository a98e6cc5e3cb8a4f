#!/usr/bin/env python3
"""Moments in 4 bits of `--fact` take the bytes that torchao's own optimizer holds.

usage: moment_bytes.py ASHLAR

Models of a few narrow layers take a step on the CPU. Skipped (77) without torchao, transformers and PyTorch.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    from torchao.optim import AdamW4bit
    from torchao.optim.subclass_4bit import OptimState4bit
    from transformers import AutoConfig, AutoModelForCausalLM
except ImportError:
    sys.exit(77)

SMALL = {"num_hidden_layers": 3, "hidden_size": 256, "intermediate_size": 704, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 32,
         "vocab_size": 1024, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
KINDS = ["llama", "mistral", "gemma2"]


def held(model) -> tuple[int, int]:
    """Bytes of all moments in 4 bits, and parameters whose moments have 32."""
    optimizer = AdamW4bit(model.parameters())
    packed = wide = 0
    for parameter in model.parameters():
        for is_signed in True, False:
            state = optimizer._new_buffer(parameter.detach(), is_signed)
            if isinstance(state, OptimState4bit):
                packed += sum(each.numel() * each.element_size() for each in (state.codes, state.scale))
            else:
                wide += parameter.numel()
    return packed, wide // 2


def predicted(file: Path, facts: str) -> float:
    line = [sys.argv[1], "predict", "--model", str(file), "--cluster", "1xH100", "--sequence", "64", "--batch", "1", "--fact", facts, "--as", "json"]
    ran = subprocess.run(line, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)["memory"][0]["optimizer"]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.json"
        for kind in KINDS:
            config = AutoConfig.for_model(kind, **SMALL)
            file.write_text(json.dumps(config.to_dict(), default=str))
            packed, wide = held(AutoModelForCausalLM.from_config(config))
            # With 32 bits it holds three numbers of 4 bytes: its own weights, and both moments.
            count = predicted(file, "first-moment=32-bit,second-moment=32-bit") / 12
            said = predicted(file, "first-moment=4-bit,second-moment=4-bit") - 4 * count
            # Norms are too small for blocks; those outside of the layers are not counted on a device.
            assert abs(said - packed - 2 * (0.5 + 4 / 128) * wide) < 4 * SMALL["hidden_size"], (kind, packed, wide, said)
    print(f"{len(KINDS)} types")


main()
