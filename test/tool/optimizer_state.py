#!/usr/bin/env python3
"""The state of `--optimizer` takes the bytes that the packages' own optimizers hold.

usage: optimizer_state.py ASHLAR

Narrow models of transformers take a step on the CPU, and the bytes of all tensors that the optimizer keeps are added. Optimizers
whose package (galore-torch, apollo-torch, adam-mini, lion-pytorch, bitsandbytes) is not installed are left out, and named. Skipped
(77) without transformers and PyTorch.
"""
import importlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.optimization import Adafactor
except ImportError:
    sys.exit(77)

SMALL = {"num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 160, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
         "vocab_size": 256, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
# With the words that say which of their matrices are one.
TYPES = {"llama": "", "qwen2": "", "gemma2": "", "phi3": ",qkv_proj,gate_up_proj"}


def model_of(kind: str):
    config = AutoConfig.for_model(kind, **SMALL)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    tokens = torch.arange(8)[None]
    model(input_ids=tokens, labels=tokens).loss.backward()
    return config, model


def named(model):
    """All but the last norm, which is not counted on a device."""
    return [(name, p) for name, p in model.named_parameters() if name != "model.norm.weight"]


def parts(model, project: dict):
    """Matrices of the layers, which are projected, and all others."""
    is_matrix = lambda name: name.endswith("proj.weight")
    return [{"params": [p for name, p in named(model) if is_matrix(name)], **project},
            {"params": [p for name, p in named(model) if not is_matrix(name)]}]


def held(what, seen: dict) -> int:
    """Bytes of all storages in a tree, each once; those of single numbers do not count."""
    if torch.is_tensor(what):
        if what.numel() > 1:
            seen[what.untyped_storage().data_ptr()] = what.untyped_storage().nbytes()
    elif isinstance(what, dict):
        for each in what.values():
            held(each, seen)
    elif hasattr(what, "__dict__"):
        held(vars(what), seen)
    return sum(seen.values())


def package(module: str, name: str):
    return getattr(importlib.import_module(module), name)


def muon(model):
    """Matrices of layers by PyTorch's, all others by AdamW."""
    matrices, others = parts(model, {})
    return [torch.optim.Muon(matrices["params"]), torch.optim.AdamW(others["params"])]


def of_all(kind, **words):
    return lambda model: [kind([p for _, p in named(model)], lr=1e-3, **words)]


GAPS = {"rank": 8, "update_proj_gap": 200, "scale": 1.0, "proj_type": "std"}
OPTIMIZERS = {
    "adam": of_all(torch.optim.AdamW),
    "sgd": of_all(torch.optim.SGD),
    "momentum": of_all(torch.optim.SGD, momentum=0.9),
    "rmsprop": of_all(torch.optim.RMSprop),
    "adagrad": of_all(torch.optim.Adagrad),
    "adafactor": of_all(Adafactor, scale_parameter=False, relative_step=False),
    "muon": muon,
    "lion": lambda model: of_all(package("lion_pytorch", "Lion"))(model),
    "ademamix": lambda model: of_all(package("bitsandbytes.optim", "AdEMAMix"))(model),
    "adam-mini": lambda model: [package("adam_mini", "Adam_mini")(named(model), dim=64, n_heads=4, n_kv_heads=2, verbose=False)],
    "galore,8": lambda model: [package("galore_torch", "GaLoreAdamW")(parts(model, GAPS), no_deprecation_warning=True)],
    "apollo,8": lambda model: [package("apollo_torch", "APOLLOAdamW")(parts(model, {**GAPS, "proj": "random", "scale_type": "channel"}))],
}


def bytes_of(word: str, model) -> int:
    all_of_them = OPTIMIZERS[word](model)
    for each in all_of_them:
        if word == "ademamix":  # its step is of a GPU
            for at, group in enumerate(each.param_groups):
                for number, p in enumerate(group["params"]):
                    each.init_state(group, p, at, number)
        else:
            each.step()
    return held({at: dict(each.state) for at, each in enumerate(all_of_them)}, {})


def predicted(file: Path, word: str) -> float:
    line = [sys.argv[1], "predict", "--model", str(file), "--cluster", "1xH100", "--sequence", "64", "--batch", "1", "--precision", "fp32", "--optimizer",
            word, "--as", "json"]
    ran = subprocess.run(line, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)["memory"][0]["optimizer"]


def main() -> None:
    missing = set()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.json"
        for kind, fused in TYPES.items():
            for word in OPTIMIZERS:
                config, model = model_of(kind)
                file.write_text(json.dumps(config.to_dict(), default=str))
                try:
                    own = bytes_of(word, model)
                except (ImportError, AttributeError) as error:
                    missing.add(f"{word}: {error}")
                    continue
                takes_matrices = word.partition(",")[0] in ("muon", "adafactor", "adam-mini", "galore", "apollo")
                said = predicted(file, word + (fused if takes_matrices else ""))
                assert said == own, (kind, word, said, own)
    print(f"{len(TYPES)} types, {len(OPTIMIZERS)} optimizers; left out: {', '.join(sorted(missing)) or 'none'}")


main()
