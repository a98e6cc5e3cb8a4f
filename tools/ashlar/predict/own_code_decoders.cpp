// Decoders whose code comes with their weights; types_of_own_code.json has their keys and sources.
#include "predict/decoder.hpp"

#include <cmath>

namespace tool {

using ashlar::cost::feed_forward;
using ashlar::cost::layer;
using ashlar::cost::mixer;

void decoder::bailing_moe() {
  begin();
  if (c_.flag({"use_bias"})) c_.fail("has \"use_bias\": sources differ on which parts have a bias then");
  mixer m = attention(c_.flag({"use_qkv_bias"}, false), false);
  if (c_.flag({"use_qk_norm"}, false)) m = with_head_norms(m);
  feed_forward const f = with_shared(experts(c_.size({"moe_intermediate_size"})));
  if (c_.size_or({"moe_shared_expert_intermediate_size"}, f.expert_width) != f.expert_width)
    c_.fail("has shared experts of another width than the others: sources differ on them");
  mixed(m, f, 2 * rms_norm);
}

// The head is never the embedding's matrix.
void decoder::chatglm() {
  norm_sizes const norm = c_.flag({"rmsnorm"}, true) ? rms_norm : layer_norm;
  begin_with({"hidden_size"}, {"num_layers"}, c_.flag({"post_layer_norm"}, true) ? norm : norm_sizes{});
  mixer m = heads_of({"num_attention_heads"});
  m.head = c_.size({"kv_channels"});
  double const groups = c_.size_or({"multi_query_group_num"}, 1);
  if (c_.flag({"multi_query_attention"}, false)) m.groups = groups;
  bool const bias = c_.flag({"add_bias_linear"}, false), bias_before = c_.flag({"add_qkv_bias"}, false);
  repeat(with_biases(m, bias || bias_before, bias), gated_of(c_.size({"ffn_hidden_size"}), bias),
         2 * norm);
}

// The first of DeepSeek's mixtures; without experts, its other layers.
void decoder::deepseek_v1() {
  begin();
  bool const bias = c_.flag({"attention_bias"}, false);
  mixer const m = attention(bias, bias);
  if (!c_.has({"n_routed_experts"})) return repeat(m, gated(false), 2 * rms_norm);
  if (c_.size_or({"moe_layer_freq"}, 1) > 1) c_.fail("has experts in some of its later layers only");
  mixed(m, with_shared(experts(c_.size({"moe_intermediate_size"}))), 2 * rms_norm);
}

void decoder::grok() {
  begin();
  repeat(attention(false, false), experts(c_.size({"intermediate_size"})), 4 * rms_norm);
}

// Each layer says its own groups of heads and width, or lacks a part.
void decoder::nemotron_nas() {
  begin();
  bool const bias = c_.flag({"attention_bias"}, false), mlp_bias = c_.flag({"mlp_bias"}, false);
  mixer const heads = heads_of({"num_attention_heads"});
  for (model_config const& block : c_.parts("block_configs")) {
    layer l;
    model_config const attends = block.part("attention"), feeds = block.part("ffn");
    if (!attends.flag({"no_op"}, false)) {
      l.mix = heads;
      l.mix.groups = heads.heads / attends.size({"n_heads_in_group"});
      l.mix = with_biases(l.mix, bias, bias);
      add_norms(l.mix, h_);
    }
    if (!feeds.flag({"no_op"}, false)) {
      double const width = std::floor(2 * feeds.real("ffn_mult") * h_ / 3);
      l.feed = gated_of(256 * std::ceil(width / 256), mlp_bias);
      add_norms(l.feed, h_);
    }
    attends.must_be_understood("nemotron-nas");
    feeds.must_be_understood("nemotron-nas");
    a_.add(l);
  }
  if (a_.layer_count() != layers_) c_.fail("has another number of \"block_configs\" than of layers");
}

void decoder::orion() {
  begin(layer_norm);
  repeat(attention(false, false), gated(false), 2 * layer_norm);
}

// The first files have GPT-2's names, and code that reads another key for the words.
void decoder::qwen() {
  begin_with({"hidden_size", "n_embd"}, {"num_hidden_layers", "n_layer"}, rms_norm);
  if (c_.size_or({"padded_vocab_size"}, a_.vocabulary) != a_.vocabulary)
    c_.fail("has another \"padded_vocab_size\" than \"vocab_size\": versions of its code read either");
  mixer m = heads_of({"num_attention_heads", "n_head"});
  m.head = c_.size({"kv_channels"});
  bool const bias = !c_.flag({"no_bias"}, true);
  double const width = std::floor(c_.size({"intermediate_size", "ffn_hidden_size"}) / 2);
  repeat(with_biases(m, true, bias), gated_of(width, bias), 2 * rms_norm);
}

void decoder::telechat() {
  begin_with({"hidden_size"}, {"n_layer"}, rms_norm);
  feed_forward f = gated_of(c_.size({"ffn_hidden_size"}), false);
  add_biases(f, h_);  // the last matrix alone has one
  repeat(with_biases(heads_of({"n_head"}), false, true), f, 2 * rms_norm);
}

}  // namespace tool
