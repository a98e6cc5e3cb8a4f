#include "predict/optimizer_choice.hpp"

#include "command.hpp"
#include "options/number_option.hpp"
#include <ashlar/cost/model/weight_matrices.hpp>
#include <ashlar/interop/near_names.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

namespace {

using ashlar::cost::architecture;
using ashlar::cost::optimizer;
using ashlar::cost::optimizer_kind;
using ashlar::cost::question;
using ashlar::cost::sharding;

constexpr std::array optimizer_words{
    std::pair{"adam", optimizer_kind::adam},           std::pair{"sgd", optimizer_kind::nothing},
    std::pair{"momentum", optimizer_kind::means},      std::pair{"lion", optimizer_kind::means},
    std::pair{"rmsprop", optimizer_kind::squares},     std::pair{"adagrad", optimizer_kind::squares},
    std::pair{"ademamix", optimizer_kind::two_means},  std::pair{"muon", optimizer_kind::muon},
    std::pair{"adafactor", optimizer_kind::adafactor}, std::pair{"adam-mini", optimizer_kind::adam_mini},
    std::pair{"galore", optimizer_kind::galore},       std::pair{"apollo", optimizer_kind::apollo}};

bool projects(optimizer_kind kind) {
  return kind == optimizer_kind::galore || kind == optimizer_kind::apollo;
}

optimizer_kind kind_named(std::string_view word) {
  std::vector<std::string> known;
  for (auto const& [name, kind] : optimizer_words) {
    if (name == word) return kind;
    known.emplace_back(name);
  }
  std::string const given(word.substr(0, 64));
  throw usage_error(fmt::format("--optimizer: '{}' is not known{}; there are {}", given,
                                ashlar::did_you_mean(given, known), fmt::join(known, ", ")));
}

optimizer read_words(std::string_view left) {
  auto const next = [&left] {
    auto const comma = std::min(left.find(','), left.size());
    std::string_view const word = left.substr(0, comma);
    left.remove_prefix(std::min(comma + 1, left.size()));
    return word;
  };
  std::string_view const name = next();
  optimizer made{.kind = kind_named(name)};
  if (projects(made.kind))
    made.rank = number_within<int>(fmt::format("--optimizer {}: the rank", name), next(), 1, 1'000'000);
  while (!left.empty()) {
    std::string_view const word = next();
    if (word == "qkv_proj" && made.takes_matrices())
      made.fuses_queries = true;
    else if (word == "gate_up_proj" && made.takes_matrices())
      made.fuses_gates = true;
    else if (word == "layerwise" && projects(made.kind))
      made.updates_at_once = true;
    else if (word == "experts" && made.kind == optimizer_kind::muon)
      made.takes_experts = true;
    else if (word == "repeated" && made.kind == optimizer_kind::muon)
      made.is_repeated = true;
    else
      throw usage_error(
          fmt::format("--optimizer {}: '{}' means nothing behind it", name, word.substr(0, 64)));
  }
  return made;
}

// An optimizer of whole matrices refuses a run that divides them, or whose matrices are not known.
void must_have_matrices(std::string_view name, question const& q) {
  architecture const& a = q.model;
  auto const refuse = [&](bool does, char const* why) {
    if (does) throw usage_error(fmt::format("--optimizer {}: {}", name, why));
  };
  bool const is_muon = a.update.kind == optimizer_kind::muon,
             shares = q.layout.sharding != sharding::none && q.layout.sharing_ranks() > 1;
  refuse(q.layout.tensor > 1, "it takes whole matrices, and tensor ranks divide them");
  refuse(!is_muon && shares,
         "it takes whole matrices, and data ranks share pieces of them: --sharding none");
  refuse(is_muon && shares && q.layout.sharding != sharding::full,
         "shards of an optimizer are no whole matrices: --sharding none or full");
  bool trains_towers = false;
  for (ashlar::cost::tower const& each : a.towers) trains_towers = trains_towers || a.trains(each);
  refuse(trains_towers, "matrices of parts before the decoder are not counted: --freeze towers");
  refuse(a.alone != ashlar::cost::updated_alone::none, "norms and biases are no matrices");
  refuse(a.lora.are_any()
             && (!is_muon || a.lora.kind != ashlar::cost::adapter_kind::low_rank || a.trains_embedding()
                 || a.trains_head() || has(a.lora.of, ashlar::cost::adapted::head)),
         "beside such adapters its state is not counted");
  refuse(a.predictions > 0, "layers that predict further tokens have matrices that are not counted");
  refuse(!knows_weight_matrices(a), "not all matrices of a layer are known one by one");
  refuse(!is_muon && a.has_experts(), "experts are not matrices one by one");
  bool has_compressed = false;
  for (ashlar::cost::layer const& l : a.kinds)
    has_compressed = has_compressed || l.mix.kind == ashlar::cost::mixer_kind::compressed;
  refuse(a.update.kind == optimizer_kind::adam_mini && has_compressed,
         "its package knows no projections of compressed attention");
}

}  // namespace

void choose_optimizer(std::string const& text, prediction& p) {
  if (text.empty()) return;
  question& q = p.asked;
  optimizer const by = q.model.update = read_words(text);
  p.optimizer = text;
  if (by.kind == optimizer_kind::adam) return;
  std::string_view const name = std::string_view(text).substr(0, text.find(','));
  if (q.layout.offload.optimizer || q.layout.offload.weights != ashlar::cost::offloaded_weights::none)
    throw usage_error(fmt::format("--optimizer {}: on a host only Adam's state is counted", name));
  if (q.cluster.has_several_kinds())
    throw usage_error(fmt::format("--optimizer {}: devices of one kind only", name));
  if (by.takes_matrices()) must_have_matrices(name, q);
  if (by.updates_at_once && (q.layout.data * q.layout.context > 1 || q.micro_batches() > 1))
    throw usage_error(fmt::format(
        "--optimizer {}: layerwise, it updates after each backward of one data rank: a step has one "
        "micro-batch",
        name));
  p.notes.push_back(fmt::format(
      "--optimizer {}: of its update, {}", name,
      by.kind == optimizer_kind::muon
          ? "the products of five rounds count, and not what ranks exchange for them"
      : by.kind == optimizer_kind::galore ? "what its state moves counts, and not its singular vectors"
                                          : "what its state moves counts"));
}

}  // namespace tool
