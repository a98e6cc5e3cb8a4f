#include "predict/offload_choice.hpp"

#include "command.hpp"
#include "options/number_option.hpp"
#include "predict/choices.hpp"
#include "predict/names.hpp"

#include <fmt/core.h>

#include <string_view>
#include <vector>

namespace tool {

namespace {

using ashlar::cost::feed_forward_kind;
using ashlar::cost::layer;
using ashlar::cost::mixer_kind;
using ashlar::cost::offloaded;
using ashlar::cost::question;

// Whether some layer keeps it.
bool has_part(question const& q, offloaded part) {
  bool attends = false, routes = false;
  for (layer const& l : q.model.kinds) {
    attends = attends || l.mix.kind == mixer_kind::attention || l.mix.kind == mixer_kind::compressed;
    routes = routes || l.feed.kind == feed_forward_kind::experts;
  }
  if (part == offloaded::attention || part == offloaded::attention_result) return attends;
  return routes || (part != offloaded::expert_input && part != offloaded::activation);
}

offloaded part_named(std::string_view given, question const& q) {
  std::string const name = in_small_letters(given);
  std::vector<std::string> names;
  std::string all;
  for (auto const& [known, part] : offload_choices) {
    names.emplace_back(known);
    all += fmt::format(" {}", known);
    if (name != known) continue;
    if (!has_part(q, part))
      throw usage_error(
          fmt::format("--offload-activations: no layer of the model has a part '{}'", known));
    return part;
  }
  throw usage_error(fmt::format("--offload-activations: no part '{}' is known{}; there are:{}",
                                given.substr(0, 64), did_you_mean(name, names), all));
}

}  // namespace

void choose_offload(std::string const& parts, question& q) {
  if (parts.empty()) return;
  std::string_view text = parts;
  if (auto const colon = text.find(':'); colon != text.npos) {
    q.layout.offload.in.first = number_within<int>("--offload-activations: layers of each stage",
                                                   text.substr(colon + 1), 1, q.model.layer_count());
    text = text.substr(0, colon);
  }
  for (;;) {
    auto const comma = text.find(',');
    q.layout.offload.parts = q.layout.offload.parts | part_named(text.substr(0, comma), q);
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
  }
  if (q.layout.offload.parts == offloaded::none) q.layout.offload.in = {};
}

}  // namespace tool
