#include "predict/lora_choice.hpp"

#include "command.hpp"
#include "options/number_option.hpp"
#include "predict/tower_words.hpp"
#include <ashlar/cost/model/adapted_matrices.hpp>
#include <ashlar/cost/model/adapters.hpp>
#include <ashlar/interop/near_names.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

namespace {

using lora_target = ashlar::cost::adapted;
using ashlar::cost::adapter_kind;
using ashlar::cost::architecture;
using ashlar::cost::packing;

constexpr lora_target of_attention = lora_target::queries | lora_target::keys | lora_target::values
                                     | lora_target::result | lora_target::queries_down
                                     | lora_target::queries_up | lora_target::keys_values_down
                                     | lora_target::keys_values_up,
                      of_feed = lora_target::gates | lora_target::up | lora_target::down;

// Names of transformers' modules, and of Megatron-Core's.
constexpr std::array targets{std::pair{"all", of_attention | of_feed},
                             std::pair{"attention", of_attention},
                             std::pair{"mlp", of_feed},
                             std::pair{"q_proj", lora_target::queries},
                             std::pair{"k_proj", lora_target::keys},
                             std::pair{"v_proj", lora_target::values},
                             std::pair{"o_proj", lora_target::result},
                             std::pair{"qkv_proj", lora_target::queries_keys_values},
                             std::pair{"gate_proj", lora_target::gates},
                             std::pair{"up_proj", lora_target::up},
                             std::pair{"down_proj", lora_target::down},
                             std::pair{"gate_up_proj", lora_target::gates_up},
                             std::pair{"q_a_proj", lora_target::queries_down},
                             std::pair{"q_b_proj", lora_target::queries_up},
                             std::pair{"kv_a_proj_with_mqa", lora_target::keys_values_down},
                             std::pair{"kv_b_proj", lora_target::keys_values_up},
                             std::pair{"linear_qkv", lora_target::queries_keys_values},
                             std::pair{"linear_proj", lora_target::result},
                             std::pair{"linear_fc1", lora_target::gates_up},
                             std::pair{"linear_fc2", lora_target::down},
                             std::pair{"lm_head", lora_target::head}};

constexpr std::array kinds_of_adapters{
    std::pair{"dora", adapter_kind::magnitudes},    std::pair{"adalora", adapter_kind::singular_values},
    std::pair{"oft", adapter_kind::rotations},      std::pair{"vera", adapter_kind::shared_matrices},
    std::pair{"miss", adapter_kind::summed_inputs}, std::pair{"bat", adapter_kind::blocks_of_weights},
    std::pair{"ia3", adapter_kind::factors},        std::pair{"loha", adapter_kind::multiplied_pairs},
    std::pair{"lokr", adapter_kind::kronecker},     std::pair{"fourierft", adapter_kind::spectrum},
    std::pair{"boft", adapter_kind::butterflies}};

bool is_kind(std::string_view word, adapter_kind& made) {
  for (auto const& [name, kind] : kinds_of_adapters) {
    if (name != word) continue;
    made = kind;
    return true;
  }
  return false;
}

lora_target target_named(std::string_view word) {
  std::vector<std::string> known;
  for (auto const& [name, matrices] : targets) {
    if (name == word) return matrices;
    known.emplace_back(name);
  }
  throw usage_error(fmt::format("--lora: '{}' is no target{}; there are {}", word.substr(0, 64),
                                ashlar::did_you_mean(std::string(word.substr(0, 64)), known),
                                fmt::join(known, ", ")));
}

// "train=NAME" trains a copy of towers, as peft does, which takes the end of a path for a name;
// "whole=NAME" the towers themselves.
bool trains_tower(std::string_view word, architecture& a) {
  using ashlar::cost::beside_adapters;
  bool const is_copy = word.starts_with("train="), is_itself = word.starts_with("whole=");
  if (!is_copy && !is_itself) return false;
  std::string const name(word.substr(word.find('=') + 1));
  std::vector<std::string> known;
  if (is_copy) known = {"embedding", "head"};
  std::vector<bool> const named = towers_named(name, a);
  bool is_one = false;
  for (std::size_t i = 0; i < a.towers.size(); ++i) {
    ashlar::cost::tower& t = a.towers[i];
    known.push_back(t.name);
    if ((named.empty() || !named[i]) && !t.name.ends_with("." + name)) continue;
    if (t.is_frozen) throw usage_error(fmt::format("--lora: {} trains, and --freeze names it", word));
    t.trains_by = is_copy ? beside_adapters::copy : beside_adapters::itself;
    is_one = true;
  }
  if (is_one) return true;
  throw usage_error(fmt::format("--lora {}: the model has no such part{}; there are: {}",
                                word.substr(0, 64), ashlar::did_you_mean(name.substr(0, 64), known),
                                fmt::join(known, ", ")));
}

bool has_targets(architecture const& a) {
  if (has(a.lora.of, lora_target::head) && a.has_tables()) return true;
  for (ashlar::cost::layer const& l : a.kinds)
    if (!adapted_matrices(a, l.mix).empty() || !adapted_matrices(a, l.feed).empty()) return true;
  return false;
}

// With blocks of another size peft stops, or takes one that divides.
void must_fit(architecture const& a, ashlar::cost::adapted_matrix const& to) {
  auto const [in, out] = std::pair{static_cast<long long>(to.in), static_cast<long long>(to.out)};
  int const rank = a.lora.rank;
  adapter_kind const kind = a.lora.kind;
  bool const turns = kind == adapter_kind::rotations || kind == adapter_kind::butterflies,
             has_blocks = kind == adapter_kind::blocks_of_weights;
  if ((turns || has_blocks) && in % rank != 0)
    throw usage_error(
        fmt::format("--lora: blocks of {} rows do not divide the {} inputs of a matrix", rank, in));
  if (has_blocks && out % rank != 0)
    throw usage_error(
        fmt::format("--lora: blocks of {} rows do not divide the {} results of a matrix", rank, out));
  if (kind == adapter_kind::summed_inputs && rank > in)
    throw usage_error(fmt::format("--lora: a matrix has {} inputs, fewer than the rank", in));
  if (kind == adapter_kind::spectrum && rank > in * out)
    throw usage_error(fmt::format("--lora: a matrix has {} numbers, fewer than {}", in * out, rank));
}

void must_fit(architecture const& a) {
  if (a.lora.kind == adapter_kind::factors && a.lora.rank != 1)
    throw usage_error("--lora: IA3 has one factor for each result or input, and no rank: 1,ia3");
  bool const has_rank = a.lora.kind == adapter_kind::low_rank || a.lora.kind == adapter_kind::magnitudes
                        || a.lora.kind == adapter_kind::singular_values;
  for (ashlar::cost::tower const& each : a.towers)
    if (!has_rank && !each.is_frozen && !each.layers.empty())
      throw usage_error(
          "--lora: adapters of this kind in parts before the decoder are not counted: --freeze towers");
  for (ashlar::cost::layer const& l : a.kinds)
    for (auto const& part : {adapted_matrices(a, l.mix), adapted_matrices(a, l.feed)})
      for (ashlar::cost::adapted_matrix const& each : part) must_fit(a, each);
}

}  // namespace

void choose_lora(std::string const& text, prediction& p) {
  if (text.empty()) return;
  if (!p.train_only.empty())
    throw usage_error("--lora freezes the whole model: --train-only has no part left");
  architecture& a = p.asked.model;
  if (!p.freeze.empty() && !(a.frozen == ashlar::cost::frozen_parts{}))
    throw usage_error("--lora freezes the whole model: --freeze has no part left but towers");
  if (a.has_cross_attention())
    throw usage_error("--lora: adapters beside attention to an encoder's tokens are not counted");
  if (a.has_measured_layers())
    throw usage_error("--lora: measured layers say nothing of the matrices that adapters are beside");
  std::string_view left = text;
  auto const next = [&] {
    auto const comma = left.find(',');
    std::string_view const word = left.substr(0, comma);
    left.remove_prefix(comma == left.npos ? left.size() : comma + 1);
    return word;
  };
  a.lora.rank = number_within<int>("--lora: the rank", next(), 1, 1'000'000);
  bool trains_embedding = false, trains_head = false;
  while (!left.empty()) {
    std::string_view const word = next();
    if (word == "train=embedding")
      trains_embedding = true;
    else if (word == "train=head")
      trains_head = true;
    else if (word == "dropout" && a.lora.kind == adapter_kind::magnitudes)
      a.lora.drops_inputs = true;
    else if (!is_kind(word, a.lora.kind) && !trains_tower(word, a))
      a.lora.of = a.lora.of | target_named(word);
  }
  if (a.lora.of == lora_target::none) a.lora.of = target_named("all");
  if (!a.has_logits() && (trains_head || has(a.lora.of, lora_target::head)))
    throw usage_error("--lora: a head of its own trains beside adapters as it is: name no lm_head");
  if ((trains_embedding || trains_head) && (a.is_tied || !a.has_tables()))
    throw usage_error(
        "--lora: train=embedding and train=head are for models whose head is not tied: copies of a tied "
        "one differ between releases of peft");
  if (trains_head && has(a.lora.of, lora_target::head))
    throw usage_error("--lora: a head has an adapter, or trains itself");
  if (a.has_state_space())
    throw usage_error("--lora: adapters beside matrices of state-space layers are not counted");
  bool const is_split = p.asked.layout.tensor > 1 || has(a.lora.of, lora_target::head);
  if (is_split && a.lora.kind != adapter_kind::low_rank)
    throw usage_error(
        "--lora: kinds other than LoRA are of whole matrices of layers: no lm_head, --tensor 1");
  bool const holds =
      a.lora.kind == adapter_kind::shared_matrices || a.lora.kind == adapter_kind::butterflies;
  if (holds && p.asked.layout.pipeline > 1)
    throw usage_error(
        "--lora: what stages hold of VeRA's and BOFT's frozen matrices is not counted: --pipeline 1");
  must_fit(a);
  if (!has_targets(a)) throw usage_error(fmt::format("--lora {}: no layer has these", text));
  a.frozen = {.embedding = !trains_embedding,
              .head = !trains_head && a.has_logits(),
              .layers = std::vector<bool>(a.layers.size(), true)};
  if (a.predictions > 0) p.notes.emplace_back("--lora: without the layers that predict further tokens");
  a.predictions = 0;
  p.lora = text;
}

void choose_frozen_weights(std::string const& text, prediction& p) {
  if (text.empty()) return;
  architecture& a = p.asked.model;
  if (!a.lora.are_any())
    throw usage_error("--frozen-weights: packed weights do not train; --lora adds what does");
  if (a.has_experts())
    throw usage_error(
        "--frozen-weights: releases of transformers differ in whether routed experts are packed");
  if (a.lora.kind == adapter_kind::multiplied_pairs || a.lora.kind == adapter_kind::kronecker
      || a.lora.kind == adapter_kind::spectrum)
    throw usage_error("--frozen-weights: LoHa, LoKr and FourierFT take no packed matrices");
  bool keeps_towers = a.towers.empty();
  std::string_view left = text;
  while (!left.empty()) {
    auto const comma = std::min(left.find(','), left.size());
    std::string_view const word = left.substr(0, comma);
    left.remove_prefix(std::min(comma + 1, left.size()));
    if (word == "4-bit")
      a.lora.frozen = packing::bits_4;
    else if (word == "8-bit")
      a.lora.frozen = packing::bits_8;
    else if (word == "double" && a.lora.frozen == packing::bits_4)
      a.lora.packs_scales = true;
    else if (word == "head" && a.lora.pack() && !a.is_tied && !a.trains_head() && a.has_logits())
      a.lora.packs_head = true;
    else if (word == "rest=32-bit" && a.lora.pack())
      a.lora.widens_rest = true;
    else if (word == "towers=16-bit" && a.lora.pack())
      keeps_towers = true;
    else
      throw usage_error(
          fmt::format("--frozen-weights takes 4-bit, 4-bit,double or 8-bit, and behind these "
                      "rest=32-bit, towers=16-bit, and head where it is not tied; not '{}'",
                      word.substr(0, 64)));
  }
  if (!keeps_towers)
    throw usage_error(
        "--frozen-weights: whether a tower is packed, too, is not known; behind a comma, towers=16-bit "
        "says that none is");
  if (a.lora.frozen == packing::bits_8)
    p.notes.emplace_back("--frozen-weights 8-bit: forward products take the time of 16 bits");
  p.frozen_weights = text;
}

}  // namespace tool
