#!/usr/bin/env python3
"""What trains beside frozen weights has the parameters that peft gives it, and a step has the operations that PyTorch counts.

usage: trained_kinds.py ASHLAR

Norms and biases alone, DoRA, AdaLoRA, OFT. Skipped (77) without peft, transformers and PyTorch.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    from peft import AdaLoraConfig, LNTuningConfig, LoraConfig, OFTConfig, get_peft_model
    from torch.utils.flop_counter import FlopCounterMode
    from transformers import AutoConfig, AutoModelForCausalLM
except ImportError:
    sys.exit(77)

ASHLAR = sys.argv[1]
TOKENS = 64
WIDE = {"num_hidden_layers": 4, "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
        "vocab_size": 512, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
OLDER = {"vocab_size": 512, "hidden_size": 256, "n_embd": 256, "n_layer": 4, "n_head": 4, "num_hidden_layers": 4, "num_attention_heads": 4, "ffn_dim": 1024,
         "word_embed_proj_dim": 256, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
MODELS = {"llama": WIDE, "mistral": WIDE, "bloom": OLDER, "gpt2": OLDER, "opt": OLDER, "starcoder2": WIDE}
# Biases before a layer's first product make it take gradients of its inputs, as all others do.
BIASES = ["bloom", "gpt2", "opt", "starcoder2"]


def model_of(kind: str, folder: str):
    config = AutoConfig.for_model(kind, **MODELS[kind])
    file = Path(folder) / "config.json"
    file.write_text(json.dumps(config.to_dict(), default=str))
    return AutoModelForCausalLM.from_config(config, attn_implementation="eager"), file


def operations(model) -> int:
    """Of a forward and a backward. Both have the work of attention in full."""
    counter = FlopCounterMode(display=False)
    with counter:
        ids = torch.zeros((1, TOKENS), dtype=torch.long)
        model(input_ids=ids, labels=ids, use_cache=False).loss.backward()
    return counter.get_total_flops()


def trained(model) -> int:
    return sum(one.numel() for one in model.parameters() if one.requires_grad)


def predicted(config: Path, *more: str) -> dict:
    line = [ASHLAR, "predict", "--model", str(config), "--cluster", "1xH100", "--sequence", str(TOKENS), "--batch", "1", *more, "--as", "json"]
    ran = subprocess.run(line, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    answer["operations"] = answer["tflops_per_device"] * 1e12 * answer["step_seconds"]
    return answer


def must_save(kind: str, alone, whole, model, answer: dict, all_train: dict) -> None:
    """The operations that a step has less than one in which all trains."""
    less, expected = all_train["operations"] - answer["operations"], operations(whole) - operations(model)
    assert answer["trained_parameters"] == trained(model), (kind, alone, answer["trained_parameters"], trained(model))
    assert abs(less - expected) < 0.01 * expected, (kind, alone, less, expected)


def check_vectors(kind: str, folder: str) -> None:
    whole, file = model_of(kind, folder)
    all_train = predicted(file)
    norms = [name for name, one in whole.named_modules() if "norm" in type(one).__name__.lower()]
    tuned = get_peft_model(model_of(kind, folder)[0], LNTuningConfig(target_modules=norms))
    must_save(kind, "norms", whole, tuned, predicted(file, "--train-only", "norms"), all_train)
    if kind not in BIASES:
        return
    model, _ = model_of(kind, folder)
    for name, one in model.named_parameters():
        one.requires_grad_("bias" in name)
    must_save(kind, "biases", whole, model, predicted(file, "--train-only", "biases"), all_train)
    unfrozen = predicted(file, "--train-only", "biases,unfrozen")
    assert unfrozen["trained_parameters"] == trained(model) and abs(unfrozen["operations"] / all_train["operations"] - 1) < 1e-9, (kind, unfrozen)


def adapted(kind: str, config, folder: str):
    model, file = model_of(kind, folder)
    return get_peft_model(model, config), file


def forward(model) -> int:
    """Of a forward that trains: dropout is on."""
    counter = FlopCounterMode(display=False)
    with counter:
        model.train()(input_ids=torch.zeros((1, TOKENS), dtype=torch.long), use_cache=False)
    return counter.get_total_flops()


def check_adapters(kind: str, modules: list, folder: str) -> None:
    """Parameters; and what DoRA's forwards do more than LoRA's: norms of weights, and behind dropout the frozen products again."""
    places = ",".join(modules)
    for rank in (8, 24):
        low, file = adapted(kind, LoraConfig(r=rank, target_modules=modules), folder)
        dora, _ = adapted(kind, LoraConfig(r=rank, target_modules=modules, use_dora=True), folder)
        drops, _ = adapted(kind, LoraConfig(r=rank, target_modules=modules, use_dora=True, lora_dropout=0.1), folder)
        ada, _ = adapted(kind, AdaLoraConfig(init_r=rank, target_modules=modules, total_step=100), folder)
        sizes = [one.base_layer.weight.shape for one in low.modules() if hasattr(one, "lora_A")]
        assert forward(dora) - forward(low) == sum(2 * rank * (one * one + one * out) for out, one in sizes), kind
        assert forward(drops) - forward(dora) == sum(2 * TOKENS * one * out for out, one in sizes), kind
        assert forward(ada) == forward(low), kind
        answers = {words: predicted(file, "--lora", f"{rank},{words}{places}") for words in ("", "dora,", "dora,dropout,", "adalora,")}
        for words, model in (("", low), ("dora,", dora), ("dora,dropout,", drops), ("adalora,", ada)):
            assert answers[words]["trained_parameters"] == trained(model), (kind, words, answers[words]["trained_parameters"], trained(model))
        # In 16 bits: both results of each matrix; and behind dropout its input with a mask.
        kept = [answers[words]["memory"][0]["activations"] for words in ("", "dora,", "dora,dropout,")]
        assert abs(kept[1] - kept[0] - sum(4 * TOKENS * out for out, _ in sizes)) < 1, (kind, kept)
        assert abs(kept[2] - kept[1] - sum(3 * TOKENS * one for _, one in sizes)) < 1, (kind, kept)
        times = [answers[words]["terms"]["products"] for words in ("", "dora,", "dora,dropout,")]
        assert times[0] < times[1] < times[2], (kind, times)


def check_rotations(kind: str, modules: list, folder: str) -> None:
    """Parameters; and what a forward does: blocks by three products of themselves, and each token with its blocks."""
    places = ",".join(modules)
    for size in (16, 64):
        turned, file = adapted(kind, OFTConfig(oft_block_size=size, target_modules=modules), folder)
        inputs = [one.in_features for one in turned.modules() if hasattr(one, "oft_R")]
        made = forward(turned) - forward(model_of(kind, folder)[0])
        assert made == sum(2 * TOKENS * one * size + 3 * 2 * one * size * size for one in inputs), (kind, size)
        answers = {words: predicted(file, "--lora", f"{words},{places}") for words in (f"{size},oft", "8")}
        oft, low = answers.values()
        assert oft["trained_parameters"] == trained(turned), (kind, oft["trained_parameters"], trained(turned))
        more = sum(one * size for one in inputs) - low["trained_parameters"]
        assert abs(oft["operations"] - low["operations"] - 6 * TOKENS * more) < 1e-6 * low["operations"], (kind, size)


def main() -> None:
    every = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    with tempfile.TemporaryDirectory() as folder:
        for kind in MODELS:
            check_vectors(kind, folder)
        for kind, modules in (("llama", every), ("llama", ["q_proj", "v_proj"]), ("mistral", ["o_proj", "down_proj"])):
            check_adapters(kind, modules, folder)
            check_rotations(kind, modules, folder)
    print(f"{len(MODELS)} types with norms alone, {len(BIASES)} with biases alone")


main()
