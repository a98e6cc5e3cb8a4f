#!/usr/bin/env python3
"""Adapters of `--lora` have the parameters that peft gives them, and the operations that PyTorch counts.

usage: lora_counts.py ASHLAR

Models of fourteen types are made with a few narrow layers. Skipped (77) without peft, transformers and PyTorch.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    from peft import LoraConfig, get_peft_model
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import FlopCounterMode
    from transformers import AutoConfig, AutoModelForCausalLM
except ImportError:
    sys.exit(77)

ASHLAR = sys.argv[1]
TOKENS = 64
SMALL = {"num_hidden_layers": 4, "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
         "vocab_size": 256, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
MIXED = {"num_local_experts": 4, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
OWN = {"mixtral": MIXED, "qwen3_moe": MIXED, "gpt_oss": MIXED,
       "deepseek_v3": {"num_key_value_heads": 4, "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_group": 2,
                       "topk_group": 1, "first_k_dense_replace": 2, "kv_lora_rank": 16, "q_lora_rank": 24, "qk_nope_head_dim": 16,
                       "qk_rope_head_dim": 8, "head_dim": 8, "v_head_dim": 16}}
SEPARATE = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
COMPRESSED = ["q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"]

# peft's names of modules, and those of --lora, where they differ.
CASES = [
    ("llama", SEPARATE, "all"), ("llama", ["q_proj", "v_proj"], None), ("llama", ["q_proj", "lm_head"], None), ("mistral", SEPARATE, "all"), ("mistral", ["o_proj"], None),
    ("qwen2", SEPARATE, "all"), ("qwen2", ["gate_proj", "down_proj"], None), ("qwen3", ["q_proj", "k_proj", "v_proj", "o_proj"], "attention"),
    ("gemma2", SEPARATE, "all"), ("gemma2", ["gate_proj", "up_proj", "down_proj"], "mlp"), ("olmo2", SEPARATE, "all"),
    ("cohere", SEPARATE, "all"), ("granite", SEPARATE, "all"),
    ("starcoder2", ["q_proj", "k_proj", "v_proj", "o_proj", "c_fc", "c_proj"], "all"),
    ("phi3", ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"], None), ("phi3", ["qkv_proj"], "linear_qkv"),
    ("mixtral", ["q_proj", "k_proj", "v_proj", "o_proj"], "all"), ("qwen3_moe", ["q_proj", "k_proj", "v_proj", "o_proj"], "all"),
    ("deepseek_v3", COMPRESSED, "attention"), ("deepseek_v3", ["q_a_proj", "kv_b_proj"], None), ("gpt_oss", ["q_proj", "v_proj"], None),
]

def forward_operations(model) -> int:
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        ids = torch.zeros((1, TOKENS), dtype=torch.long)
        # Without a mask, transformers looks into the positions, which are not there.
        mask = torch.zeros((1, 1, TOKENS, TOKENS))
        model(input_ids=ids, attention_mask=mask, use_cache=False)
    return counter.get_total_flops()


def predicted(config: Path, *more: str) -> dict:
    line = [ASHLAR, "predict", "--model", str(config), "--cluster", "1xH100", "--sequence", str(TOKENS), "--batch", "1", *more, "--as", "json"]
    ran = subprocess.run(line, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def operations(answer: dict) -> float:
    return answer["tflops_per_device"] * 1e12 * answer["step_seconds"]


def check(kind: str, modules: list, words, rank: int, folder: str) -> None:
    config = AutoConfig.for_model(kind, **SMALL | OWN.get(kind, {}))
    file = Path(folder) / "config.json"
    kept = {**config.to_dict(), "num_nextn_predict_layers": 0} if kind == "deepseek_v3" else config.to_dict()
    file.write_text(json.dumps(kept, default=str))
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    before = forward_operations(model)
    model = get_peft_model(model, LoraConfig(r=rank, target_modules=modules))
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    more = forward_operations(model) - before
    answer = predicted(file, "--lora", f"{rank}," + (words or ",".join(modules)))
    assert answer["trained_parameters"] == trained, (kind, modules, answer["trained_parameters"], trained)
    assert more == 2 * TOKENS * trained, (kind, more, trained)
    # Forward, gradients of inputs and of weights take as much each.
    wider = predicted(file, "--lora", f"{2 * rank}," + (words or ",".join(modules)))
    steps = operations(wider) - operations(answer)
    assert abs(steps - 3 * more) < 1e-6 * steps, (kind, modules, steps, 3 * more)


def kept_by_selection(model) -> int:
    """Elements that torchtitan's policy keeps of products in one forward: the first of a layer, and each second one."""
    total = 0

    class Selection(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            nonlocal total
            made = function(*args, **(kwargs or {}))
            if function == torch.ops.aten.mm.default:
                self.count += 1
                total += made.numel() if self.count % 2 == 1 else 0
            return made

    chosen = Selection()
    layers = next(module for module in model.modules() if isinstance(module, torch.nn.ModuleList))
    for layer in layers:
        layer.register_forward_pre_hook(lambda *_: setattr(chosen, "count", 0))
    layers[-1].register_forward_hook(lambda *_: setattr(chosen, "count", 1 << 40 | 1))  # the head is none of them
    with torch.no_grad(), chosen:
        mask = torch.zeros((1, 1, TOKENS, TOKENS))
        model.get_base_model().model(input_ids=torch.zeros((1, TOKENS), dtype=torch.long), attention_mask=mask, use_cache=False)
    return total


def check_selective(kind: str, modules: list, folder: str) -> None:
    """Adapters move the places of products under --recompute op; what is kept is what a module's own run has."""
    config = AutoConfig.for_model(kind, **SMALL)
    file = Path(folder) / "config.json"
    file.write_text(json.dumps(config.to_dict(), default=str))
    held = []
    for rank in (8, 24):
        model = get_peft_model(AutoModelForCausalLM.from_config(config, attn_implementation="eager"), LoraConfig(r=rank, target_modules=modules))
        answer = predicted(file, "--recompute", "op", "--sharding", "full", "--lora", f"{rank}," + ",".join(modules))
        held.append((answer["memory"][0]["activations"], kept_by_selection(model)))
    (less, few), (more, many) = held
    layers = SMALL["num_hidden_layers"]
    # One layer at a time holds all that a layer without recomputation does, with the result of each adapter's first product.
    expected = 2 * (many - few) * (layers - 1) / layers + 2 * TOKENS * 16 * len(modules)
    assert abs(more - less - expected) < 1, (kind, modules, held, expected)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for kind, modules, words in CASES:
            for rank in (8, 24):
                check(kind, modules, words, rank, folder)
        for modules in (SEPARATE, ["q_proj", "v_proj"], ["o_proj", "down_proj"], ["k_proj"]):
            check_selective("llama", modules, folder)
    print(f"{len(CASES)} cases, {len({kind for kind, _, _ in CASES})} types")


main()
