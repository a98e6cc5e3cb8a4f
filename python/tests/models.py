"""Small random models of `transformers`, each with its inputs, and whether its losses
have the unpiped model's bits.
"""

import torch
import transformers as hf

SHAPES = {
    "vocab_size": 96,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_hidden_layers": 5,
}
ROWS, TOKENS = 2, 12


def _tokens(micro_batches, seed, **more):
    torch.manual_seed(seed)
    ids = torch.randint(0, 96, (ROWS * micro_batches, TOKENS))
    mask = torch.ones_like(ids)
    mask[1, -3:] = 0  # one row is shorter
    return {"input_ids": ids, "attention_mask": mask, "labels": ids.clone(), **more}


def _causal(config, model):
    return lambda: model(config), _tokens


def llama(use_cache=False):
    config = hf.LlamaConfig(
        **SHAPES, intermediate_size=48, num_key_value_heads=2, use_cache=use_cache
    )
    return lambda: hf.LlamaForCausalLM(config), _tokens


def qwen3_moe():
    config = hf.Qwen3MoeConfig(
        **SHAPES,
        intermediate_size=48,
        moe_intermediate_size=16,
        num_experts=4,
        num_experts_per_tok=2,
        num_key_value_heads=2,
        head_dim=8,
        use_cache=False,
    )
    return lambda: hf.Qwen3MoeForCausalLM(config), _tokens


def mixtral(**more):
    config = hf.MixtralConfig(
        **SHAPES,
        intermediate_size=24,
        num_local_experts=4,
        num_key_value_heads=2,
        use_cache=False,
        **more,
    )
    return lambda: hf.MixtralForCausalLM(config), _tokens


def gemma2():
    config = hf.Gemma2Config(
        **SHAPES,
        intermediate_size=48,
        num_key_value_heads=2,
        head_dim=8,
        use_cache=False,
        sliding_window=4,
    )
    return lambda: hf.Gemma2ForCausalLM(config), _tokens


def gpt2():
    config = hf.GPT2Config(
        vocab_size=96,
        n_embd=32,
        n_head=4,
        n_layer=5,
        n_positions=32,
        resid_pdrop=0,
        embd_pdrop=0,
        attn_pdrop=0,
        use_cache=False,
    )
    return lambda: hf.GPT2LMHeadModel(config), _tokens


def bloom():
    config = hf.BloomConfig(
        vocab_size=96,
        hidden_size=32,
        n_head=4,
        n_layer=5,
        hidden_dropout=0,
        attention_dropout=0,
        use_cache=False,
    )
    return lambda: hf.BloomForCausalLM(config), _tokens


def opt():
    config = hf.OPTConfig(
        **SHAPES,
        ffn_dim=48,
        word_embed_proj_dim=32,
        dropout=0,
        attention_dropout=0,
        max_position_embeddings=32,
        use_cache=False,
    )
    return lambda: hf.OPTForCausalLM(config), _tokens


def mamba():
    config = hf.MambaConfig(
        vocab_size=96,
        hidden_size=32,
        num_hidden_layers=5,
        state_size=4,
        use_cache=False,
    )
    return lambda: hf.MambaForCausalLM(config), lambda m, seed: {
        k: v for k, v in _tokens(m, seed).items() if k != "attention_mask"
    }


def bert():
    config = hf.BertConfig(
        **SHAPES,
        intermediate_size=48,
        hidden_dropout_prob=0,
        attention_probs_dropout_prob=0,
        max_position_embeddings=32,
    )
    return lambda: hf.BertForMaskedLM(config), _tokens


def vit():
    config = hf.ViTConfig(
        hidden_size=32,
        num_attention_heads=4,
        num_hidden_layers=5,
        intermediate_size=48,
        image_size=16,
        patch_size=4,
        hidden_dropout_prob=0,
        attention_probs_dropout_prob=0,
        num_labels=7,
    )

    def images(micro_batches, seed):
        torch.manual_seed(seed)
        count = ROWS * micro_batches
        return {
            "pixel_values": torch.randn(count, 3, 16, 16),
            "labels": torch.randint(0, 7, (count,)),
        }

    return lambda: hf.ViTForImageClassification(config), images


def t5():
    config = hf.T5Config(
        vocab_size=96,
        d_model=32,
        d_kv=8,
        num_heads=4,
        d_ff=48,
        num_layers=3,
        num_decoder_layers=3,
        dropout_rate=0,
        decoder_start_token_id=0,
        use_cache=False,
    )
    return lambda: hf.T5ForConditionalGeneration(config), _tokens


ALL = {
    one.__name__: one
    for one in (
        llama,
        qwen3_moe,
        mixtral,
        gemma2,
        gpt2,
        bloom,
        opt,
        mamba,
        bert,
        vit,
        t5,
    )
}
