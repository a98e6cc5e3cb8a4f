#include "predict/measured_layers.hpp"

#include "command.hpp"
#include "files/costs_file.hpp"
#include "options/shape_options.hpp"

#include <fmt/core.h>

#include <cstddef>
#include <utility>

namespace tool {

namespace {

using ashlar::cost::architecture;
using ashlar::cost::layer;
using ashlar::cost::measured_layer;

constexpr int most_layers = 1000;

// One list: layers on a number of tensor ranks of one kind.
std::vector<measured_layer> layers_of(json_object& list) {
  int const tensor = static_cast<int>(list.number("tensor", 1, 1024, 1));
  std::string const device = list.word("kind", "");
  std::vector<measured_layer> made;
  for (json_object& each : list.objects("layers")) {
    measured_layer const one{.tensor = tensor,
                             .device = device,
                             .forward = each.real("forward_ms", 0, 0) / 1e3,
                             .backward = each.real("backward_ms", 0, 0) / 1e3,
                             .parameters = each.real("parameters", 0),
                             .kept = each.real("kept_bytes", 0),
                             .output = each.real("output_bytes", 0)};
    auto const count = static_cast<std::size_t>(each.number("count", 1, most_layers, 1));
    each.must_be_all();
    made.insert(made.end(), count, one);
  }
  list.must_be_all();
  if (made.size() > most_layers) list.fail("has too many layers");
  return made;
}

}  // namespace

architecture measured_model(json_object& file) {
  std::vector<layer> layers;
  std::vector<std::pair<int, std::string>> known;
  for (json_object& list : file.objects("measured")) {
    std::vector<measured_layer> const made = layers_of(list);
    std::pair<int, std::string> const of{made[0].tensor, made[0].device};
    bool is_new = layers.empty() || layers.size() == made.size();
    for (auto const& other : known) is_new = is_new && other != of;
    if (!is_new)
      list.fail("must have a number of tensor ranks of its own, and as many layers as the others");
    known.push_back(of);
    layers.resize(made.size());
    for (std::size_t i = 0; i < made.size(); ++i) layers[i].measured.push_back(made[i]);
  }
  architecture a;
  a.hidden = 1;
  for (layer const& each : layers) a.add(each);
  return a;
}

void take_times(architecture& model, std::string const& path) {
  std::vector<layer> layers;
  for (int i = 0; i < model.layer_count(); ++i) layers.push_back(model.at(i));
  if (layers[0].measured.size() > 1)
    throw usage_error(
        "--costs are those of one kind and number of tensor ranks, and the model lists several");
  costs_file const file = read_costs(path);
  if (int const stages = file.cost.passes.stages();
      stages != 0 && static_cast<std::size_t>(stages) != layers.size())
    throw usage_error(fmt::format(
        "'{}' has costs of {} stages, and the model {} layers: measure each layer as a stage", path,
        stages, layers.size()));
  auto const seconds = [&](ashlar::tick time) {
    return static_cast<double>(time) * file.scale.tick_ns() / 1e9;
  };
  model.kinds.clear();
  model.layers.clear();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    ashlar::stage_cost const& c = file.cost.passes.of(static_cast<int>(i));
    layers[i].measured[0].forward = seconds(c.forward);
    layers[i].measured[0].backward = seconds(c.of(ashlar::pass_kind::backward));
    model.add(layers[i]);
  }
}

void take_causal_shares(architecture& model, std::vector<int> const& percent) {
  ashlar::causal_share const share = causal_share_of(percent);
  for (layer& l : model.kinds)
    for (measured_layer& each : l.measured) {
      each.attends_forward = share.forward / 100.0;
      each.attends_backward = share.backward_input / 200.0;  // an input pass is half of a backward
    }
}

void must_have_times(architecture const& model) {
  for (layer const& l : model.kinds)
    for (measured_layer const& each : l.measured)
      if (!(each.forward > 0 || each.backward > 0))
        throw usage_error(
            "the model lacks \"forward_ms\" and \"backward_ms\" of a layer; --costs may say them");
}

}  // namespace tool
