#include "predict/megatron_encoder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tool {

using ashlar::cost::architecture;
using ashlar::cost::feed_forward_kind;
using ashlar::cost::layer;
using ashlar::cost::mixer_kind;

void make_encoder(megatron_command const& a, bool has_pairs, architecture& model) {
  for (layer& l : model.kinds) {
    if (l.mix.kind != mixer_kind::attention || model.predictions > 0)
      a.fail("has layers that pretrain_bert.py does not make");
    l.mix.sees_all = true;
  }
  double const h = model.hidden, square = h * h + h;
  model.beside += square + 2 * h + model.vocabulary;            // of the head
  if (has_pairs) model.beside += 2 * h + square + 2 * (h + 1);  // types of tokens, the pooler, its head
}

namespace {

constexpr std::array sizes_of_both{"encoder_num_layers", "encoder_seq_length", "decoder_num_layers",
                                   "decoder_seq_length"};

}  // namespace

bool is_of_both(std::string_view name) {
  return std::find(sizes_of_both.begin(), sizes_of_both.end(), name) != sizes_of_both.end();
}

long long name_sizes_of_decoder(megatron_command& a) {
  auto const one_of = [&](char const* of_encoder, char const* of_both) {
    if (a.has(of_encoder) && a.has(of_both))
      a.fail(fmt::format("has {} beside {}, at which Megatron-LM stops", with_hyphens(of_encoder),
                         with_hyphens(of_both)));
    return a.number(a.has(of_encoder) ? of_encoder : of_both);
  };
  long long const layers = one_of("encoder_num_layers", "num_layers"),
                  tokens = one_of("encoder_seq_length", "seq_length");
  if (a.number("decoder_num_layers", layers) != layers)
    a.fail(
        "has another number of layers for its decoder: newer versions of Megatron-LM make as many as "
        "for "
        "the encoder, older ones as many as --decoder-num-layers says");
  a.set("num_layers", fmt::format("{}", layers));
  a.set("seq_length", fmt::format("{}", a.number("decoder_seq_length")));
  return tokens;
}

void make_encoder_decoder(megatron_command& a, long long tokens, architecture& model) {
  double const h = model.hidden;
  for (char const* each : {"qk_layernorm", "add_qkv_bias"})
    if (a.has(each))
      a.fail(fmt::format("has {}, which pretrain_t5.py does not take", with_hyphens(each)));
  bool const has_biases = !a.has("disable_bias_linear");
  ashlar::cost::tower encoder{.name = "encoder", .hidden = h, .tokens = static_cast<double>(tokens)};
  encoder.layers = model.layers;
  for (layer& l : model.kinds) {
    ashlar::cost::mixer const& m = l.mix;
    if (m.kind != mixer_kind::attention || m.groups != m.heads || m.has_gate || m.window > 0
        || l.feed.kind != feed_forward_kind::dense || model.predictions > 0)
      a.fail("has layers that pretrain_t5.py does not make");
    encoder.kinds.push_back(l);
    encoder.kinds.back().mix.sees_all = true;
    l.cross = m;  // with a norm and biases of its own
    encoder.beside =
        m.beside > 0 ? m.beside - (has_biases ? 3 * m.heads * m.head + h : 0) : 0;  // a norm
  }
  if (model.is_tied) model.beside += model.vocabulary;
  if (a.word("position_embedding_type") == "relative")
    model.beside += 2.0 * static_cast<double>(a.number("relative_attention_num_buckets", 32))
                    * model.kinds[0].mix.heads;
  model.towers.push_back(std::move(encoder));
}

}  // namespace tool
