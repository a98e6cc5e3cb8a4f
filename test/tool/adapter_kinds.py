#!/usr/bin/env python3
"""Adapters of kinds other than LoRA have the parameters, the operations and the kept bytes of peft's own.

usage: adapter_kinds.py ASHLAR

Parameters are those of peft's models; operations are PyTorch's counter's of a forward and a backward; kept bytes are what hooks of
saved tensors see of one layer, under autocast as the Trainer runs it. Skipped (77) without peft, transformers and PyTorch.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    import peft.tuners.boft.layer
    from peft import BOFTConfig, FourierFTConfig, IA3Config, LoHaConfig, LoKrConfig, LoraConfig, MissConfig, OFTConfig, VeraConfig, get_peft_model
    from torch.utils.flop_counter import FlopCounterMode
    from transformers import AutoConfig, AutoModelForCausalLM
except ImportError:
    sys.exit(77)

ASHLAR = sys.argv[1]
# BOFT's own kernel, which peft would build again at each layer; without it there is one factor.
peft.tuners.boft.layer.get_fbd_cuda = lambda: None
torch.set_num_threads(1)  # products so small take longer on several
SIZES = {"num_hidden_layers": 3, "hidden_size": 192, "intermediate_size": 528, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
         "vocab_size": 384, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
MODELS = ("llama", "qwen2", "gemma2")
EVERY = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
# Words of --lora, and what peft makes for them.
KINDS = {
    "8,vera": lambda names: VeraConfig(r=8, target_modules=names, vera_dropout=0.0),
    "12,miss": lambda names: MissConfig(r=12, target_modules=names),
    "8,bat": lambda names: MissConfig(r=8, init_weights="bat", target_modules=names),
    "1,ia3": lambda names: IA3Config(target_modules=names, feedforward_modules=[each for each in names if each == "down_proj"]),
    "8,loha": lambda names: LoHaConfig(r=8, target_modules=names),
    "2,lokr": lambda names: LoKrConfig(r=2, target_modules=names),
    "64,lokr": lambda names: LoKrConfig(r=64, target_modules=names),
    "100,fourierft": lambda names: FourierFTConfig(n_frequency=100, target_modules=names),
    "8,boft": lambda names: BOFTConfig(boft_block_size=8, target_modules=names),
    "16,oft": lambda names: OFTConfig(oft_block_size=16, target_modules=names),
}


def model_of(kind: str, folder: str):
    config = AutoConfig.for_model(kind, **SIZES)
    file = Path(folder) / f"{kind}.json"
    file.write_text(json.dumps(config.to_dict(), default=str))
    return AutoModelForCausalLM.from_config(config, attn_implementation="eager"), file


def predicted(config: Path, tokens: int, *more: str) -> dict:
    line = [ASHLAR, "predict", "--model", str(config), "--cluster", "1xH100", "--sequence", str(tokens), "--batch", "1", *more, "--as", "json"]
    ran = subprocess.run(line, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    answer["operations"] = answer["tflops_per_device"] * 1e12 * answer["step_seconds"]
    return answer


def operations(model, tokens: int) -> int:
    """Of a forward and a backward that goes down to the first layer's input."""
    model.enable_input_require_grads()
    counter = FlopCounterMode(display=False)
    with counter:
        ids = torch.zeros((1, tokens), dtype=torch.long)
        model(input_ids=ids, labels=ids, use_cache=False).loss.backward()
    return counter.get_total_flops()


def of_tokens(model) -> int:
    """What 64 tokens more take: making a matrix takes the same for all, and scores are those of any adapter."""
    return operations(model, 128) - operations(model, 64)


def check_model(kind: str, names: list, folder: str) -> None:
    low, file = model_of(kind, folder)
    low = get_peft_model(low, LoraConfig(r=4, target_modules=names))
    least, places = of_tokens(low), ",".join(names)
    told = predicted(file, 64, "--lora", f"4,{places}")["operations"]
    for words, config in KINDS.items():
        model = get_peft_model(model_of(kind, folder)[0], config(names))
        answer = predicted(file, 64, "--lora", f"{words},{places}")
        trained = sum(one.numel() for one in model.parameters() if one.requires_grad)
        assert answer["trained_parameters"] == trained, (kind, words, answer["trained_parameters"], trained)
        more, expected = answer["operations"] - told, of_tokens(model) - least
        assert abs(more - expected) < 0.01 * max(abs(expected), 1), (kind, words, more, expected)


class Alone(torch.nn.Module):
    def __init__(self, name: str, into: int, out: int) -> None:
        super().__init__()
        self.add_module(name, torch.nn.Linear(into, out, bias=False))
        self.name, self.rest = name, torch.nn.Linear(1, 1)

    def forward(self, x):
        return getattr(self, self.name)(x)


def kept(config, name: str, into: int, out: int, tokens: int) -> int:
    """Bytes that a backward needs: neither parameters nor buffers."""
    model = get_peft_model(Alone(name, into, out).to(torch.bfloat16), config([name])).train()
    own = {one.data_ptr() for one in (*model.parameters(), *model.buffers())}
    seen = {}

    def see(one):
        storage = one.untyped_storage()
        if storage.data_ptr() not in own:
            seen[storage.data_ptr()] = one  # held, so that no other takes its place
        return one

    x = torch.randn(1, tokens, into, dtype=torch.bfloat16, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16), torch.autograd.graph.saved_tensors_hooks(see, lambda one: one):
        model(x)
    return sum(one.untyped_storage().nbytes() for one in seen.values())


def check_kept(words: str, config, name: str, folder: str) -> None:
    """One adapter in each layer of a model, whose other kept bytes are those of a model with LoRA."""
    model, file = model_of("llama", folder)
    shape = next(one for path, one in model.named_modules() if path.endswith(name)).weight.shape
    out, into = shape
    for tokens in (64, 512):
        held = [predicted(file, tokens, "--lora", f"{each},{name}")["memory"][0]["activations"] for each in (words, "4")]
        # LoRA keeps its input, too, in 16 bits, and 4 numbers of a token.
        here = (held[0] - held[1]) / SIZES["num_hidden_layers"] + 2 * (into + 4) * tokens
        there = kept(config, name, into, out, tokens)
        assert abs(here - there) < 0.02 * there, (words, name, tokens, here, there)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for kind in MODELS:
            check_model(kind, EVERY, folder)
        check_model("mistral", ["k_proj", "v_proj", "down_proj"], folder)
        for words, config in KINDS.items():
            for name in ("q_proj", "v_proj"):
                check_kept(words, config, name, folder)
    print(f"{len(KINDS)} choices of {len(MODELS)} types")


main()
