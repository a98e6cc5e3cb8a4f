"""Compares `ashlar predict`'s parameter counts with those of transformers' models, built without memory.

usage: parameter_counts.py ASHLAR [TYPE...]

ASHLAR is the tool. Without transformers and torch the exit code is 77: skipped. For every model_type that the tool knows: the default
configuration, published ones, and some with other sizes and flags, each as transformers writes it.
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

# Keys of published models that differ from the defaults of their type.
PUBLISHED = {
    "llama": [
        {"hidden_size": 4096, "intermediate_size": 14336, "num_key_value_heads": 8, "vocab_size": 128256},
        {"hidden_size": 16384, "intermediate_size": 53248, "num_hidden_layers": 126, "num_attention_heads": 128, "num_key_value_heads":
         8, "vocab_size": 128256},
        {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_key_value_heads": 8, "head_dim": 64,
         "vocab_size": 128256, "tie_word_embeddings": True}],
    "mistral": [
        {"num_key_value_heads": 8, "sliding_window": None, "vocab_size": 32768},
        {"hidden_size": 5120, "num_hidden_layers": 40, "head_dim": 128, "vocab_size": 131072},
        {"hidden_size": 12288, "intermediate_size": 28672, "num_hidden_layers": 88, "num_attention_heads": 96, "vocab_size": 32768}],
    "mixtral": [
        {"hidden_size": 6144, "intermediate_size": 16384, "num_hidden_layers": 56, "num_attention_heads": 48, "vocab_size": 32768},
        {"hidden_size": 7168, "intermediate_size": 20480, "num_hidden_layers": 60, "num_attention_heads": 56, "num_local_experts": 2,
         "vocab_size": 64000}],
    "qwen2": [
        {"hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8,
         "vocab_size": 152064},
        {"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2,
         "tie_word_embeddings": True},
        {"hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4,
         "vocab_size": 152064}],
    "qwen2_moe": [
        {"hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4,
         "num_experts": 64, "num_experts_per_tok": 8, "moe_intermediate_size": 2560, "shared_expert_intermediate_size": 20480}],
    "qwen3": [
        {"hidden_size": 5120, "intermediate_size": 25600, "num_hidden_layers": 64, "num_attention_heads": 64, "num_key_value_heads":
         8},
        {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8,
         "tie_word_embeddings": True},
        {"hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_key_value_heads": 8}],
    "qwen3_moe": [
        {"num_hidden_layers": 48, "head_dim": 128},
        {"hidden_size": 4096, "intermediate_size": 12288, "moe_intermediate_size": 1536, "num_hidden_layers": 94,
         "num_attention_heads": 64, "head_dim": 128},
        {"hidden_size": 6144, "intermediate_size": 8192, "moe_intermediate_size": 2560, "num_hidden_layers": 62, "num_attention_heads":
         96, "num_key_value_heads": 8, "num_experts": 160, "head_dim": 128}],
    "gemma": [
        {"hidden_size": 2048, "intermediate_size": 16384, "num_hidden_layers": 18, "num_attention_heads": 8, "num_key_value_heads":
         1}],
    "gemma2": [
        {"hidden_size": 3584, "intermediate_size": 14336, "num_hidden_layers": 42, "num_attention_heads": 16, "num_key_value_heads":
         8},
        {"hidden_size": 4608, "intermediate_size": 36864, "num_hidden_layers": 46, "num_attention_heads": 32, "num_key_value_heads":
         16, "head_dim": 128}],
    "gemma3_text": [
        {"hidden_size": 5376, "intermediate_size": 21504, "num_hidden_layers": 62, "num_attention_heads": 32, "num_key_value_heads":
         16, "head_dim": 128, "sliding_window": 1024},
        {"hidden_size": 1152, "intermediate_size": 6912, "num_attention_heads": 4, "num_key_value_heads": 1, "sliding_window": 512,
         "vocab_size": 262144},
        {"hidden_size": 3840, "intermediate_size": 15360, "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 8,
         "sliding_window": 1024}],
    "phi3": [
        {"hidden_size": 5120, "intermediate_size": 17920, "num_hidden_layers": 40, "num_attention_heads": 40, "num_key_value_heads":
         10, "vocab_size": 100352},
        {"hidden_size": 5120, "intermediate_size": 17920, "num_hidden_layers": 40, "num_attention_heads": 40, "num_key_value_heads":
         10},
        {"num_attention_heads": 24, "num_key_value_heads": 8, "vocab_size": 200064, "tie_word_embeddings": True}],
    "gpt2": [
        {"n_embd": 1600, "n_layer": 48, "n_head": 25},
        {"n_embd": 1024, "n_layer": 24, "n_head": 16},
        {"n_embd": 1280, "n_layer": 36, "n_head": 20}],
    "gpt_neox": [
        {"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 6, "num_attention_heads": 8, "vocab_size": 50304},
        {"hidden_size": 4096, "intermediate_size": 16384, "num_hidden_layers": 32, "num_attention_heads": 32},
        {"hidden_size": 5120, "intermediate_size": 20480, "num_hidden_layers": 36, "num_attention_heads": 40, "vocab_size": 50688}],
    "opt": [
        {"hidden_size": 1024, "ffn_dim": 4096, "num_hidden_layers": 24, "num_attention_heads": 16, "word_embed_proj_dim": 512,
         "do_layer_norm_before": False},
        {"hidden_size": 12288, "ffn_dim": 49152, "num_hidden_layers": 96, "num_attention_heads": 96, "word_embed_proj_dim": 12288},
        {"hidden_size": 4096, "ffn_dim": 16384, "num_hidden_layers": 32, "num_attention_heads": 32, "word_embed_proj_dim": 4096}],
    "bloom": [
        {"hidden_size": 14336, "n_layer": 70, "n_head": 112},
        {"hidden_size": 4096, "n_layer": 30, "n_head": 32},
        {"hidden_size": 1024, "n_layer": 24, "n_head": 16}],
    "falcon": [
        {"hidden_size": 8192, "num_hidden_layers": 60, "num_attention_heads": 128, "num_kv_heads": 8, "new_decoder_architecture":
         True},
        {"hidden_size": 4096, "num_hidden_layers": 60, "num_attention_heads": 64, "num_kv_heads": 8, "parallel_attn": False},
        {"hidden_size": 14848, "num_hidden_layers": 80, "num_attention_heads": 232, "num_kv_heads": 8, "new_decoder_architecture":
         True}],
    "starcoder2": [
        {"hidden_size": 6144, "intermediate_size": 24576, "num_hidden_layers": 40, "num_attention_heads": 48, "num_key_value_heads":
         4},
        {"hidden_size": 4608, "intermediate_size": 18432, "num_hidden_layers": 32, "num_attention_heads": 36, "num_key_value_heads":
         4}],
    "gpt_bigcode": [
        {"n_embd": 6144, "n_layer": 40, "n_head": 48, "n_inner": 24576, "n_positions": 8192, "vocab_size": 49152},
        {"n_embd": 2048, "n_layer": 24, "n_head": 16, "n_inner": 8192, "n_positions": 8192, "vocab_size": 49152},
        {"n_embd": 4096, "n_layer": 42, "n_head": 32, "n_inner": 16384, "n_positions": 8192, "vocab_size": 49152}],
    "cohere": [
        {"hidden_size": 12288, "intermediate_size": 33792, "num_hidden_layers": 64, "num_attention_heads": 96, "num_key_value_heads":
         8, "use_qk_norm": True},
        {"intermediate_size": 24576, "num_key_value_heads": 8},
        {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads":
         8}],
    "cohere2": [
        {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads":
         8},
        {"hidden_size": 12288, "intermediate_size": 36864, "num_hidden_layers": 64, "num_attention_heads": 96, "num_key_value_heads":
         8}],
    "deepseek_v2": [
        {"hidden_size": 2048, "intermediate_size": 10944, "num_hidden_layers": 27, "num_attention_heads": 16, "q_lora_rank": None,
         "moe_intermediate_size": 1408, "num_experts_per_tok": 6, "first_k_dense_replace": 1},
        {"hidden_size": 5120, "intermediate_size": 12288, "num_hidden_layers": 60, "num_attention_heads": 128, "moe_intermediate_size":
         1536, "n_routed_experts": 160, "num_experts_per_tok": 6, "first_k_dense_replace": 1}],
    "deepseek_v32": [{"first_k_dense_replace": 1, "index_n_heads": 32, "index_topk": 512, "attention_bias": True}],
    "glm_moe_dsa": [  # one layer in four chooses keys; letters; a word for each layer
        {"num_hidden_layers": 30, "index_topk_freq": 4, "index_skip_topk_offset": 3},
        {"num_hidden_layers": 7, "index_topk_pattern": "FSSFSSF"},
        {"num_hidden_layers": 5, "indexer_types": ["full", "shared", "shared", "full", "shared"]}],
    "deepseek_v3": [
        {"num_hidden_layers": 61, "hidden_size": 7168, "n_routed_experts": 384, "first_k_dense_replace": 1, "num_attention_heads": 64,
         "vocab_size": 163840},
        {"hidden_size": 2048, "intermediate_size": 11264, "num_hidden_layers": 27, "num_attention_heads": 16, "q_lora_rank": None,
         "moe_intermediate_size": 1408, "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6,
         "first_k_dense_replace": 1, "vocab_size": 163840}],
    "glm4_moe": [
        {"hidden_size": 5120, "intermediate_size": 12288, "moe_intermediate_size": 1536, "n_routed_experts": 160, "num_hidden_layers":
         92, "first_k_dense_replace": 3, "attention_bias": True, "use_qk_norm": True, "head_dim": 128}],
    "gpt_oss": [
        {"num_hidden_layers": 24, "num_local_experts": 32}],
    "granitemoe": [
        {"hidden_size": 1536, "intermediate_size": 512, "num_attention_heads": 24, "num_key_value_heads": 8, "num_local_experts": 40,
         "num_experts_per_tok": 8, "vocab_size": 49155, "tie_word_embeddings": True},
        {"hidden_size": 1024, "intermediate_size": 512, "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 8,
         "num_local_experts": 32, "num_experts_per_tok": 8, "vocab_size": 49155, "tie_word_embeddings": True}],
    "nemotron": [
        {"num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128},
        {"hidden_size": 18432, "intermediate_size": 73728, "num_hidden_layers": 96, "num_attention_heads": 96, "num_key_value_heads":
         8, "head_dim": 192},
        {"hidden_size": 3072, "intermediate_size": 9216, "num_attention_heads": 24, "num_key_value_heads": 8, "head_dim": 128}],
    "hunyuan_v1_dense": [
        {"num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128167, "intermediate_size": 14336}],
    "hunyuan_v1_moe": [
        {"num_key_value_heads": 8, "head_dim": 128, "num_experts": 64, "moe_topk": 8, "intermediate_size": 3072, "vocab_size":
         128167}],
    "ernie4_5_moe": [
        {"hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 54, "num_attention_heads": 64, "num_key_value_heads": 8,
         "moe_intermediate_size": 3584, "moe_k": 8, "moe_layer_start_index": 3, "moe_num_shared_experts": 0, "tie_word_embeddings":
         False}],
    "olmo2": [
        {"hidden_size": 5120, "intermediate_size": 13824, "num_hidden_layers": 40, "num_attention_heads": 40, "vocab_size": 100352},
        {"hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 64, "num_attention_heads": 40, "num_key_value_heads": 8,
         "vocab_size": 100352},
        {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 16, "vocab_size": 100352}],
    "exaone4": [
        {"hidden_size": 5120, "intermediate_size": 27392, "num_hidden_layers": 64, "num_attention_heads": 40, "num_key_value_heads": 8,
         "head_dim": 128},
        {"hidden_size": 2048, "intermediate_size": 4096, "num_hidden_layers": 30, "num_attention_heads": 32, "num_key_value_heads": 8,
         "head_dim": 64, "tie_word_embeddings": True}],
    "llama4_text": [
        {"num_local_experts": 128, "interleave_moe_layer_step": 2}],
    "mamba2": [
        {"hidden_size": 2560, "num_heads": 80, "num_hidden_layers": 64, "n_groups": 1, "vocab_size": 50288, "tie_word_embeddings":
         True},
        {"hidden_size": 768, "num_heads": 24, "num_hidden_layers": 24, "n_groups": 1, "vocab_size": 50288, "tie_word_embeddings":
         True},
        {"hidden_size": 2048, "num_heads": 64, "num_hidden_layers": 48, "n_groups": 1, "vocab_size": 50288, "tie_word_embeddings":
         True}],
    "jamba": [
        {"num_hidden_layers": 72, "hidden_size": 8192, "intermediate_size": 24576, "num_attention_heads": 64}],
    "minimax": [
        {"hidden_size": 6144, "intermediate_size": 9216, "num_hidden_layers": 80, "num_attention_heads": 64, "head_dim": 128,
         "num_local_experts": 32, "vocab_size": 200064}],
    "glm4": [
        {"hidden_size": 6144, "intermediate_size": 23040, "num_hidden_layers": 61, "num_attention_heads": 48, "num_key_value_heads": 8,
         "head_dim": 128}],
    "granite": [
        {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8,
         "vocab_size": 49155, "tie_word_embeddings": True},
        {"hidden_size": 4096, "intermediate_size": 12800, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8,
         "vocab_size": 49155, "tie_word_embeddings": True}],
    "olmo": [
        {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 16, "tie_word_embeddings":
         True}],
}
NEEDS = {  # that the defaults leave out
    "deepseek_v2": {"num_experts_per_tok": 6},
    "nemotron": {"num_key_value_heads": 8, "head_dim": 128},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128},
}
FLAGS = ["attention_bias", "mlp_bias", "tie_word_embeddings", "use_bias", "qkv_bias", "use_qk_norm", "bias", "enable_bias", "multi_query",
         "use_conv_bias", "mamba_conv_bias", "parallel_attn", "new_decoder_architecture", "do_layer_norm_before", "use_sliding_window"]
SIZES = {"vocab_size": [512, 1000], "num_hidden_layers": [6, 9], "n_layer": [5], "intermediate_size": [96, 160], "ffn_dim": [96],
         "num_key_value_heads": [1, 2, 4], "num_experts": [4, 8], "num_local_experts": [4, 8], "n_routed_experts": [8],
         "moe_num_experts": [4, 8], "n_shared_experts": [1, 3], "first_k_dense_replace": [0, 2], "moe_intermediate_size": [32],
         "moe_num_shared_experts": [1, 2], "head_dim": [16, 48], "decoder_sparse_step": [1, 2], "interleave_moe_layer_step": [1, 2]}


def variations(kind, cls, count):
    import dataclasses
    known = {field.name for field in dataclasses.fields(cls)}
    choose = random.Random(kind)
    for _ in range(count):
        made = dict(NEEDS.get(kind, {}))
        for flag in FLAGS:
            if flag in known and choose.random() < 0.5:
                made[flag] = choose.random() < 0.5
        for size, values in SIZES.items():
            if size in known and choose.random() < 0.5:
                made[size] = choose.choice(values)
        if kind in ("deepseek_v2", "deepseek_v3", "deepseek_v32", "glm_moe_dsa", "mamba2", "nemotron_h", "qwen3_next"):
            made.pop("head_dim", None)
        if kind in ("deepseek_v2", "deepseek_v3", "deepseek_v32", "glm_moe_dsa"):
            made.pop("num_key_value_heads", None)
        for size in ("num_experts", "num_local_experts", "moe_num_experts", "n_routed_experts"):
            if size in made:
                for chosen in ("num_experts_per_tok", "moe_k", "moe_topk"):
                    if chosen in known:
                        made[chosen] = 2
        yield made


def count(config):
    """All parameters, and those of a token."""
    import torch
    from transformers import AutoModelForCausalLM
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    total = active = 0
    for name, parameter in model.named_parameters():
        n = parameter.numel()
        total += n
        if re.search(r"\.experts\.", name):
            one = next(getattr(config, key) for key in ("num_experts_per_tok", "moe_k", "moe_topk") if getattr(config, key, None))
            of = next(getattr(config, key) for key in ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
                      if getattr(config, key, None))
            assert n * one % of == 0
            n = n * one // of
        active += n
    return total, active


def of_kinds(config):
    """Parameters of norms, and biases, as `--train-only` names them: by classes of modules, and by names."""
    import torch
    from transformers import AutoModelForCausalLM
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    norms = sum(p.numel() for m in model.modules() if "norm" in type(m).__name__.lower() for p in m.parameters(recurse=False))
    return {"norms": norms, "biases": sum(p.numel() for name, p in model.named_parameters() if "bias" in name)}


def trained(tool, path, kind):
    ran = subprocess.run([tool, "predict", "--model", path, "--cluster", "1x1xH100", "--sequence", "64", "--batch", "1", "--train-only", kind,
                          "--as", "json"], capture_output=True, text=True)
    if ran.returncode:
        return 0 if f"the model has no {kind}" in ran.stderr else ran.stderr.strip()
    return int(json.loads(ran.stdout)["trained_parameters"])


def asked(tool, path):
    ran = subprocess.run([tool, "predict", "--model", path, "--cluster", "1x1xH100", "--sequence", "64", "--batch", "1", "--as", "json"],
                         capture_output=True, text=True)
    if ran.returncode:
        return ran.stderr.strip()
    said = json.loads(ran.stdout)
    return int(said["parameters"]), int(said["active_parameters"])


def known_types(tool, folder):
    path = os.path.join(folder, "none.json")
    with open(path, "w") as file:
        json.dump({"model_type": "none"}, file)
    return re.search(r"there are: ([^;]*);", asked(tool, path))[1].split()


def main():
    tool, only = sys.argv[1], sys.argv[2:]
    try:
        import torch  # noqa: F401
        from transformers import CONFIG_MAPPING
    except ImportError as error:
        print(f"skipped: {error}")
        return SKIPPED
    wrong = right = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config.json")
        for kind in only or known_types(tool, folder):
            if kind not in CONFIG_MAPPING:
                print(f"{kind}: this transformers does not have it")
                continue
            cls = CONFIG_MAPPING[kind]
            cases = [("default", NEEDS.get(kind, {}))]
            cases += [(f"published {i + 1}", {**NEEDS.get(kind, {}), **keys}) for i, keys in enumerate(PUBLISHED.get(kind, []))]
            cases += [(f"variation {i + 1}", keys) for i, keys in enumerate(variations(kind, cls, 8))]
            for name, keys in cases:
                try:
                    config = cls(**keys)
                    expected = count(config)
                except Exception as error:  # sizes that do not go together
                    if not name.startswith("variation"):
                        print(f"{kind}, {name}: transformers refuses it: {error}")
                        wrong += 1
                    continue
                forms = [("whole", json.dumps({key: value for key, value in config.to_dict().items() if "time_step_limit" not in key},
                                              default=str)),
                         ("as written", config.to_json_string())]
                if kind != "nemotron_h":  # whose layers nothing else says
                    forms.append(("its keys", json.dumps({"model_type": kind, **keys})))
                for form, text in forms:
                    with open(path, "w") as file:
                        file.write(text)
                    found = asked(tool, path)
                    if found == expected:
                        right += 1
                    else:
                        wrong += 1
                        print(f"{kind}, {name}, {form}: {found} instead of {expected}; {keys}")
                    for part, count_of_part in of_kinds(config).items() if form == "whole" else ():
                        found = trained(tool, path, part)
                        right, wrong = right + (found == count_of_part), wrong + (found != count_of_part)
                        if found != count_of_part:
                            print(f"{kind}, {name}: {found} {part} instead of {count_of_part}; {keys}")
    print(f"{right} counts agree, {wrong} do not")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
