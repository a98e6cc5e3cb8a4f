// Decoders with experts.
#include "predict/decoder.hpp"

namespace tool {

using ashlar::cost::feed_forward;
using ashlar::cost::mixer;
using ashlar::cost::mixer_kind;

void decoder::mixtral() {
  begin();
  repeat(attention(false, false), experts(c_.size({"intermediate_size"})), 2 * rms_norm);
}

void decoder::qwen2_moe() {
  begin();
  mixed(attention(c_.flag({"qkv_bias"}, true), false), with_shared_gate(), 2 * rms_norm);
}

void decoder::qwen3_moe() {
  begin();
  bool const bias = c_.flag({"attention_bias"}, false);
  mixed(with_head_norms(attention(bias, bias)), experts(c_.size({"moe_intermediate_size"})),
        2 * rms_norm);
}

void decoder::glm4_moe() {
  begin();
  mixer m = attention(c_.flag({"attention_bias"}, false), false);
  if (c_.flag({"use_qk_norm"}, false)) m = with_head_norms(m);
  mixed(m, with_shared(experts(c_.size({"moe_intermediate_size"}))), 2 * rms_norm);
}

void decoder::granitemoe() {
  begin();
  bool const bias = c_.flag({"attention_bias"}, false);
  repeat(attention(bias, bias), experts(c_.size({"intermediate_size"})), 2 * rms_norm);
}

void decoder::olmoe() { repeat_with_wide_norms(true); }

// One shared expert of the experts' size.
void decoder::hunyuan_moe() {
  begin();
  bool const bias = c_.flag({"attention_bias"}, false);
  feed_forward f = experts(c_.size({"intermediate_size"}));
  f.shared_width = f.expert_width;
  repeat(with_head_norms(attention(bias, bias)), f, 2 * rms_norm);
}

void decoder::ernie_moe() {
  begin();
  bool const bias = c_.flag({"use_bias"}, false);
  feed_forward f = experts(c_.size({"moe_intermediate_size"}));
  f.shared_width = c_.size_or({"moe_num_shared_experts"}, 0) * f.expert_width;
  add_biases(f, f.experts);  // a correction that training does not touch, yet a parameter
  if (bias && f.shared_width > 0) add_biases(f, 2 * f.shared_width + h_);  // experts have none
  if (bias) add_biases(a_, a_.vocabulary);
  mixed(attention(bias, bias), f, 2 * rms_norm, bias);
}

// Sinks, a bias everywhere, clamped gates.
void decoder::gpt_oss() {
  begin();
  bool const bias = c_.flag({"attention_bias"}, true);
  mixer m = attention(bias, bias);
  m.beside += m.heads;
  feed_forward f = experts(c_.size({"intermediate_size"}));
  f.is_clamped = true;
  add_biases(f, f.experts);
  f.beside_expert = 2 * f.expert_width + h_;
  c_.has({"swiglu_limit"});
  repeat(m, f, 2 * rms_norm);
}

// Experts take a shared one beside them; layers between them are wider.
void decoder::llama4() {
  begin();
  bool const bias = c_.flag({"attention_bias"}, false);
  feed_forward f = experts(c_.size({"intermediate_size"}));
  f.shared_width = f.expert_width;
  c_.flag({"use_qk_norm"}, true);  // without parameters
  mixed(attention(bias, bias), f, 2 * rms_norm);
}

void decoder::deepseek() {
  begin();
  mixer m{.kind = mixer_kind::compressed, .heads = c_.size({"num_attention_heads"})};
  c_.size_or({"num_key_value_heads"}, 0);  // each head has its own, of the compressed ones
  c_.size_or({"head_dim", "qk_head_dim"}, 0);
  m.groups = m.heads;
  m.q_rank = c_.size_or({"q_lora_rank"}, 0);
  m.kv_rank = c_.size({"kv_lora_rank"});
  m.nope = c_.size({"qk_nope_head_dim"});
  m.rope = c_.size({"qk_rope_head_dim"});
  m.value_head = c_.size({"v_head_dim"});
  m.head = m.nope + m.rope;
  add_norms(m, m.q_rank + m.kv_rank);
  if (c_.flag({"attention_bias"}, false)) add_biases(m, m.q_rank + m.kv_rank + m.rope + h_);
  m.chosen = c_.size_or({"index_topk"}, 0);
  c_.size_or({"first_k_dense_replace"}, 0);  // `mlp_layer_types` may say it
  bool const bias = c_.flag({"mlp_bias"}, false) && !(m.chosen > 0);
  feed_forward f = with_shared(experts(c_.size({"moe_intermediate_size"})));
  if (bias && f.shared_width > 0) add_biases(f, 2 * f.shared_width + h_);
  mixed(m, f, 2 * rms_norm, bias);
  if (m.chosen > 0) a_.predictor.mix = with_indexer(m);
}

}  // namespace tool
