#!/usr/bin/env python3
"""Tries architectures of `transformers` in `Pipeline`: do small random ones train with the losses of the unpiped model?

usage: architectures.py [NAME ...]

NAME is a class of transformers, like LlamaForCausalLM; by default, all of the list below. Each is made small, trains for three steps of
four micro-batches on two processes, and is compared with itself without a pipeline, as python/tests/test_front.py does with eleven.
Prints a line a model: the largest relative difference of losses, and the largest of parameters after the steps; or the error. Needs a
Python with ashlar-pp, torch and transformers, and about ten seconds a model.
"""
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[2] / "python" / "tests"
LIMIT = 150  # seconds a model

TEXT = """LlamaForCausalLM GPTNeoXForCausalLM PhiForCausalLM Phi3ForCausalLM MistralForCausalLM GemmaForCausalLM Gemma3ForCausalLM
FalconForCausalLM GPTJForCausalLM GPTNeoForCausalLM GPTBigCodeForCausalLM CodeGenForCausalLM MptForCausalLM Olmo2ForCausalLM OlmoeForCausalLM
Qwen2ForCausalLM Qwen3ForCausalLM Qwen2MoeForCausalLM Qwen3NextForCausalLM DeepseekV2ForCausalLM DeepseekV3ForCausalLM GptOssForCausalLM
StableLmForCausalLM Starcoder2ForCausalLM CohereForCausalLM Cohere2ForCausalLM GraniteForCausalLM GraniteMoeForCausalLM GlmForCausalLM
Glm4ForCausalLM Glm4MoeForCausalLM SmolLM3ForCausalLM NemotronForCausalLM Exaone4ForCausalLM Ernie4_5ForCausalLM Dots1ForCausalLM
ApertusForCausalLM HunYuanDenseV1ForCausalLM SeedOssForCausalLM DiffLlamaForCausalLM HeliumForCausalLM PersimmonForCausalLM
MiniMaxForCausalLM Llama4ForCausalLM XGLMForCausalLM BioGptForCausalLM Mamba2ForCausalLM JambaForCausalLM BambaForCausalLM
FalconH1ForCausalLM RecurrentGemmaForCausalLM RobertaForMaskedLM DistilBertForMaskedLM AlbertForMaskedLM ElectraForMaskedLM
DebertaV2ForMaskedLM ModernBertForMaskedLM CamembertForMaskedLM XLMRobertaForMaskedLM ConvBertForMaskedLM MobileBertForMaskedLM
SqueezeBertForMaskedLM NystromformerForMaskedLM BigBirdForMaskedLM BartForConditionalGeneration MBartForConditionalGeneration
PegasusForConditionalGeneration MarianMTModel MT5ForConditionalGeneration LongT5ForConditionalGeneration UMT5ForConditionalGeneration
LEDForConditionalGeneration BlenderbotForConditionalGeneration M2M100ForConditionalGeneration PLBartForConditionalGeneration
SwitchTransformersForConditionalGeneration""".split()
WITHOUT_MASK = ["FNetForMaskedLM", "RwkvForCausalLM"]
IMAGES = """DeiTForImageClassification BeitForImageClassification Dinov2ForImageClassification SwinForImageClassification
Swinv2ForImageClassification ConvNextForImageClassification MobileViTForImageClassification PoolFormerForImageClassification""".split()

HYBRID = {"mamba_d_state": 4, "mamba_n_heads": 8, "mamba_d_head": 8}
SMALL = {
    **dict.fromkeys(("hidden_size", "n_embd", "d_model", "dim", "embedding_size", "word_embed_proj_dim"), 32),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers"), 5),
    **dict.fromkeys(("num_layers", "num_decoder_layers", "encoder_layers", "decoder_layers"), 3),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "d_ff", "hidden_dim", "encoder_ffn_dim", "decoder_ffn_dim", "ffn_hidden_size"), 48),
    **dict.fromkeys(("max_position_embeddings", "n_positions"), 64),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size", "q_lora_rank", "kv_lora_rank"), 16),
    **dict.fromkeys(("head_dim", "d_kv", "rotary_dim", "sliding_window", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"), 8),
    **dict.fromkeys(("linear_key_head_dim", "linear_value_head_dim", "relative_attention_num_buckets"), 8),
    "vocab_size": 96, "num_key_value_heads": 2, "num_experts_per_tok": 2, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
    "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1, "n_shared_experts": 1, "state_size": 4, "expand": 2, "time_step_rank": 4,
    "attention_hidden_size": 32, **HYBRID, "use_cache": False, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    "decoder_start_token_id": 1, "image_size": 16, "patch_size": 4, "num_labels": 7,
}
# For configurations whose sizes depend on each other; with "only", nothing of SMALL is used.
OWN = {
    "DeepseekV2Config": {"num_key_value_heads": 4}, "DeepseekV3Config": {"num_key_value_heads": 4},
    "Mamba2Config": {"num_heads": 8, "head_dim": 8, "n_groups": 2},
    "FalconH1Config": {"mamba_d_ssm": 64, "mamba_n_groups": 1},
    **dict.fromkeys(("LongT5Config", "SwitchTransformersConfig"), {"decoder_start_token_id": 0}),
    "GPTNeoConfig": {"only": True, "vocab_size": 96, "hidden_size": 32, "num_layers": 4, "num_heads": 4, "window_size": 8,
                     "attention_types": [[["global", "local"], 2]], "use_cache": False},
    "ConvNextConfig": {"only": True, "hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 2, 1], "patch_size": 2, "num_labels": 7},
    **dict.fromkeys(("SwinConfig", "Swinv2Config"), {"only": True, "image_size": 16, "patch_size": 2, "embed_dim": 16, "depths": [2, 2],
                                                     "num_heads": [2, 4], "window_size": 4, "num_labels": 7}),
}


def small(configuration):
    """A configuration of few parameters, without random numbers."""
    usual, own = configuration(), dict(OWN.get(configuration.__name__, {}))
    read_only = {key for key in SMALL if getattr(getattr(configuration, key, None), "fset", key) is None}  # derived from others
    known = {key: value for key, value in SMALL.items() if hasattr(usual, key) and key not in read_only}
    sizes = own if own.pop("only", False) else {**known, **own}
    still = {key: 0.0 for key, value in vars(usual).items() if ("drop" in key or "jitter" in key) and type(value) in (int, float)}
    return configuration(**{**still, **sizes})


def batches(name):
    def of(micro_batches, seed):
        import torch

        torch.manual_seed(seed)
        rows = 2 * micro_batches
        if "Image" in name:
            return {"pixel_values": torch.randn(rows, 3, 16, 16), "labels": torch.randint(0, 7, (rows,))}
        ids = torch.randint(3, 96, (rows, 12))
        mask = torch.ones_like(ids)
        mask[1, -3:] = 0  # one row is shorter
        return {"input_ids": ids, "labels": ids.clone(), **({} if name in WITHOUT_MASK else {"attention_mask": mask})}

    return of


def one_rank(name, rank, meeting):
    import torch
    import transformers

    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    sys.path.insert(0, str(TESTS))
    import front_ranks

    front_ranks.STEPS = 3
    model = getattr(transformers, name)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=rank, world_size=2, timeout=datetime.timedelta(seconds=60)
    )
    shape = small(model.config_class)
    found = front_ranks.beside(lambda: model(shape), batches(name))
    losses = max(abs(a - b) / abs(b) for a, b in zip(found["losses"], found["expected"]))
    print(json.dumps({"losses": losses, "parameters": found["off"]}))
    torch.distributed.destroy_process_group()


def tried(name):
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, __file__, "--rank", name, os.path.join(folder, "meeting")]
        runs = [subprocess.Popen([*line, str(rank)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for rank in range(2)]
        try:
            said = [run.communicate(timeout=LIMIT) for run in runs]
        except subprocess.TimeoutExpired:
            return f"| {name} | took more than {LIMIT} s | |"
        finally:
            for run in runs:
                run.kill()
    for run, (_, errors) in zip(runs, said):
        if run.returncode != 0:
            return f"| {name} | {(errors.strip().splitlines() or ['no words'])[-1][:160]} | |"
    off = [json.loads(output.splitlines()[-1]) for output, _ in said]
    return f"| {name} | {max(each['losses'] for each in off):.1e} | {max(each['parameters'] for each in off):.1e} |"


def main():
    if sys.argv[1:2] == ["--rank"]:
        return one_rank(sys.argv[2], int(sys.argv[4]), sys.argv[3])
    print("| model | losses differ by | parameters by |\n|---|---:|---:|")
    for name in sys.argv[1:] or TEXT + WITHOUT_MASK + IMAGES:
        print(tried(name), flush=True)


if __name__ == "__main__":
    main()
