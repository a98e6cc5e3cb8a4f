// Dense decoders: Llama and those like it, GPT-2 and its time.
#include "predict/decoder.hpp"

namespace tool {

using ashlar::cost::mixer;

// Llama and those like it: gated, RMS norms before both parts, biases by flags.
void decoder::llama() {
  begin();
  bool const bias = c_.flag({"attention_bias"}, false);
  repeat(attention(bias, bias), gated(c_.flag({"mlp_bias"}, false)), 2 * rms_norm);
}

void decoder::smollm3() {
  c_.flag({"use_sliding_window"}, false);
  llama();
}

void decoder::mistral() {
  begin();
  repeat(attention(false, false), gated(false), 2 * rms_norm);
}

void decoder::phi3() { mistral(); }

void decoder::qwen2() {
  begin();
  repeat(attention(true, false), gated(false), 2 * rms_norm);
}

void decoder::qwen3() {
  begin();
  bool const bias = c_.flag({"attention_bias"}, false);
  repeat(with_head_norms(attention(bias, bias)), gated(false), 2 * rms_norm);
}

void decoder::gemma() {
  begin();
  bool const bias = c_.flag({"attention_bias"}, false);
  repeat(attention(bias, bias), gated(false), 2 * rms_norm);
}

void decoder::gemma2() {
  begin();
  bool const bias = c_.flag({"attention_bias"}, false);
  repeat(attention(bias, bias), gated(false), 4 * rms_norm);
}

void decoder::gemma3() {
  begin();
  bool const bias = c_.flag({"attention_bias"}, false);
  repeat(with_head_norms(attention(bias, bias)), gated(false), 4 * rms_norm);
}

void decoder::cohere() {  // both parts behind one norm, which has no bias
  begin();
  bool const bias = c_.flag({"attention_bias"}, false);
  mixer m = attention(bias, bias);
  if (c_.flag({"use_qk_norm"}, false)) add_norms(m, (m.heads + m.groups) * m.head);
  repeat(m, gated(false), rms_norm);
}

void decoder::glm() {
  begin();
  repeat(attention(c_.flag({"attention_bias"}, false), false), gated(false), 2 * rms_norm);
}

void decoder::glm4() {
  begin();
  repeat(attention(c_.flag({"attention_bias"}, false), false), gated(false), 4 * rms_norm);
}

void decoder::olmo() {  // norms without parameters
  begin({});
  bool const bias = c_.flag({"attention_bias"}, false);
  repeat(attention(bias, bias), gated(false), {});
}

void decoder::olmo2() { repeat_with_wide_norms(false); }

void decoder::exaone4() {
  begin();
  repeat(with_head_norms(attention(false, false)), gated(false), 2 * rms_norm);
}

void decoder::hunyuan_dense() {
  begin();
  bool const bias = c_.flag({"attention_bias"}, false);
  repeat(with_head_norms(attention(bias, bias)), gated(false), 2 * rms_norm);
}

void decoder::ernie() {
  begin();
  bool const bias = c_.flag({"use_bias"}, false);
  repeat(attention(bias, bias), gated(bias), 2 * rms_norm);
}

// GPT-2 and its time: LayerNorm, a bias everywhere, two matrices.
void decoder::gpt2() {
  begin_with({"n_embd", "hidden_size"}, {"n_layer", "num_hidden_layers"}, layer_norm);
  mixer m = heads_of({"n_head", "num_attention_heads"});
  if (c_.flag({"multi_query"}, false)) m.groups = 1;
  a_.beside += c_.size({"n_positions", "max_position_embeddings"}) * h_;
  if (c_.flag({"add_cross_attention"}, false)) c_.fail("has cross attention: it is no decoder alone");
  c_.size_or({"num_key_value_heads"}, 0);  // follows from multi_query
  repeat(with_biases(m, true, true), plain(c_.size_or({"n_inner"}, 4 * h_), true), 2 * layer_norm);
}

void decoder::gptj() {
  begin_with({"n_embd", "hidden_size"}, {"n_layer", "num_hidden_layers"}, layer_norm);
  add_biases(a_, a_.vocabulary);  // of the head
  repeat(heads_of({"n_head", "num_attention_heads"}), plain(c_.size_or({"n_inner"}, 4 * h_), true),
         layer_norm);
}

void decoder::gpt_neox() {
  begin(layer_norm);
  bool const bias = c_.flag({"attention_bias"}, true);
  repeat(with_biases(heads_of({"num_attention_heads"}), bias, bias),
         plain(c_.size({"intermediate_size"}), true), 2 * layer_norm);
}

void decoder::opt() {
  bool const final_norm =
      c_.flag({"do_layer_norm_before"}, true) && !c_.flag({"_remove_final_layer_norm"}, false);
  norm_sizes const norm = c_.flag({"layer_norm_elementwise_affine"}, true) ? layer_norm : norm_sizes{};
  begin(final_norm ? norm : norm_sizes{});
  a_.embedding = c_.size_or({"word_embed_proj_dim"}, 0);
  a_.beside += (c_.size({"max_position_embeddings"}) + 2) * h_;
  bool const bias = c_.flag({"enable_bias"}, true);
  repeat(with_biases(heads_of({"num_attention_heads"}), bias, bias), plain(c_.size({"ffn_dim"}), bias),
         2 * norm);
}

void decoder::bloom() {
  begin_with({"hidden_size", "n_embed", "n_embd"}, {"n_layer", "num_hidden_layers"}, 2 * layer_norm);
  repeat(with_biases(heads_of({"n_head", "num_attention_heads"}), true, true), plain(4 * h_, true),
         2 * layer_norm);
}

void decoder::falcon() {
  begin_with({"hidden_size"}, {"num_hidden_layers", "n_layer"}, layer_norm);
  mixer m = heads_of({"num_attention_heads", "n_head"});
  bool const is_new = c_.flag({"new_decoder_architecture"}, false);
  bool const shares_keys = c_.flag({"multi_query"}, true);
  double const groups = c_.size_or({"num_kv_heads", "n_head_kv"}, m.heads);
  if (is_new)
    m.groups = groups;
  else if (shares_keys)
    m.groups = 1;
  double norms = is_new ? c_.size_or({"num_ln_in_parallel_attn"}, 2) : 1;
  if (!is_new && !c_.flag({"parallel_attn"}, true)) norms = 2;
  c_.flag({"parallel_attn"}, true);
  c_.size_or({"num_ln_in_parallel_attn"}, 2);
  bool const bias = c_.flag({"bias"}, false);
  repeat(with_biases(m, bias, bias), plain(c_.size_or({"ffn_hidden_size"}, 4 * h_), bias),
         norms * layer_norm);
}

void decoder::starcoder2() {
  begin(layer_norm);
  bool const bias = c_.flag({"use_bias"}, true);
  repeat(attention(bias, bias), plain(c_.size({"intermediate_size"}), bias), 2 * layer_norm);
}

void decoder::nemotron() {
  begin(layer_norm);
  bool const bias = c_.flag({"attention_bias"}, false);
  repeat(attention(bias, bias), plain(c_.size({"intermediate_size"}), c_.flag({"mlp_bias"}, false)),
         2 * layer_norm);
}

}  // namespace tool
