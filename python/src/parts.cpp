// The parts of passes, for pairs whose parts alternate.
#include "bindings.hpp"
#include <ashlar/interop/input_limits.hpp>
#include <ashlar/interop/json_costs.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/simulate/part_timeline.hpp>

#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace python {

namespace {

using ashlar::part_costs;
using ashlar::part_resource;
using ashlar::pass_part;
using ashlar::stage_parts;
using ashlar::tick;
using plain_part = std::pair<std::string, tick>;
using named_part = std::tuple<std::string, tick, std::string>;  // of which pass of a backward
using given_part = std::variant<plain_part, named_part>;

part_resource resource_of(std::string const& word) {
  return meaning_of<part_resource>(
      "what a part needs", word,
      {{"compute", part_resource::compute}, {"exchange", part_resource::exchange}});
}

std::vector<pass_part> parts_of(std::vector<given_part> const& given) {
  std::vector<pass_part> all;
  for (given_part const& each : given)
    if (auto const* const part = std::get_if<plain_part>(&each)) {
      all.push_back({.on = resource_of(part->first), .duration = part->second});
    } else {
      auto const& [word, ticks, of] = std::get<named_part>(each);
      all.push_back({.on = resource_of(word),
                     .duration = ticks,
                     .of_weights = meaning_of<bool>("what a part is of", of,
                                                    {{"input", false}, {"weights", true}})});
    }
  return all;
}

stage_parts make_stage(std::vector<plain_part> const& forward, std::vector<given_part> const& backward,
                       long long layers) {
  int const most = ashlar::input_limits::parts;
  for (std::size_t const count : {forward.size(), backward.size()})
    within("the number of a pass's parts", static_cast<long long>(count), 1, most);
  auto const longest = static_cast<long long>(std::max(forward.size(), backward.size()));
  return ashlar::repeated(
      {.forward = parts_of({forward.begin(), forward.end()}), .backward = parts_of(backward)},
      within("layers", layers, 1, most / longest));
}

part_costs make_parts(std::vector<stage_parts> stages, std::string const& pairs) {
  using ashlar::braiding;
  within("the number of stages with parts", static_cast<long long>(stages.size()), 1,
         ashlar::input_limits::braided_stages);
  return {.stages = std::move(stages),
          .how = meaning_of<braiding>("pairs", pairs,
                                      {{"best", braiding::best},
                                       {"in turn", braiding::in_turn},
                                       {"in turn, weights delayed", braiding::in_turn_delayed}})};
}

// Whether each part belongs to the backward, in the order in which the parts of a pair run.
std::vector<bool> order_of_pair(part_costs const& c, long long forward, long long backward,
                                std::string const& kind) {
  using ashlar::pass_kind;
  auto const parts = [&](char const* which, long long stage, pass_kind of) {
    auto const last = static_cast<long long>(c.stages.size()) - 1;
    int const at = within(which, stage, 0, last == 0 ? limits::devices - 1 : last);
    return ashlar::parts_of(c.stages[last == 0 ? 0 : static_cast<std::size_t>(at)], of);
  };
  ashlar::braid_order const order =
      order_of_pair(parts("forward", forward, pass_kind::forward),
                    parts("backward", backward,
                          meaning_of<pass_kind>("kind", kind,
                                                {{"backward", pass_kind::backward},
                                                 {"backward_input", pass_kind::backward_input},
                                                 {"backward_weight", pass_kind::backward_weight}})),
                    c.how);
  return {order.begin(), order.end()};
}

char const* word_of(part_resource on) { return on == part_resource::compute ? "compute" : "exchange"; }

std::vector<named_part> words_of(std::vector<pass_part> const& parts) {
  std::vector<named_part> all;
  for (pass_part const& part : parts)
    all.emplace_back(word_of(part.on), part.duration, part.of_weights ? "weights" : "input");
  return all;
}

std::optional<part_costs> read_parts(std::string text, std::string name) {
  part_costs read = ashlar::read_json_costs(std::move(text), std::move(name)).parts;
  if (read.stages.empty()) return std::nullopt;
  return read;
}

using placed_pass_of_parts = std::tuple<std::string, tick, tick>;
using placed_part = std::tuple<std::string, std::string, tick, tick>;

void bind_timeline(nb::module_& m) {
  using ashlar::device_parts;
  using ashlar::part_timeline;
  nb::class_<part_timeline>(m, "PartTimeline",
                            "When the parts of a schedule's passes run on two resources a device.")
      .def_ro("makespan", &part_timeline::makespan)
      .def_prop_ro(
          "computing",
          [](part_timeline const& t) {
            std::vector<tick> all;
            for (device_parts const& own : t.devices) all.push_back(own.computing);
            return all;
          },
          "Ticks by device.")
      .def_prop_ro(
          "exchanging",
          [](part_timeline const& t) {
            std::vector<tick> all;
            for (device_parts const& own : t.devices) all.push_back(own.exchanging);
            return all;
          },
          "Ticks by device.")
      .def_prop_ro(
          "passes",
          [](part_timeline const& t) {
            std::vector<std::vector<placed_pass_of_parts>> all;
            for (device_parts const& own : t.devices) {
              all.emplace_back();
              for (ashlar::pass_of_parts const& p : own.passes)
                all.back().emplace_back(to_string(p.what), p.start, p.end);
            }
            return all;
          },
          "By device, in its order: the pass ('0F3'), start and end.")
      .def_prop_ro(
          "parts",
          [](part_timeline const& t) {
            std::vector<std::vector<placed_part>> all;
            for (device_parts const& own : t.devices) {
              all.emplace_back();
              for (ashlar::timed_part const& p : own.parts)
                all.back().emplace_back(to_string(own.passes[static_cast<std::size_t>(p.of)].what),
                                        word_of(p.on), p.start, p.end);
            }
            return all;
          },
          "By device: of which pass, 'compute' or 'exchange', start and end.")
      .def("__repr__", [](part_timeline const& t) {
        return "<PartTimeline: makespan " + std::to_string(t.makespan) + ">";
      });
  m.def(
      "time_parts",
      [](ashlar::schedule const& s, part_costs const& c) { return ashlar::time_parts(s, c); },
      "schedule"_a, "parts"_a,
      "Runs the parts of a schedule's passes in its order on devices that compute and exchange at the "
      "same time. Messages take what the schedule's costs say.");
}

}  // namespace

void bind_parts(nb::module_& m) {
  nb::class_<stage_parts> of_stages(m, "StageParts", "The parts of the passes of a stage.");
  of_stages
      .def(
          "__init__",
          [](stage_parts* made, std::vector<plain_part> const& forward,
             std::vector<given_part> const& backward,
             long long layers) { new (made) stage_parts(make_stage(forward, backward, layers)); },
          "forward"_a, "backward"_a, "layers"_a = 1,
          "Of a layer, in the order in which parts run alone: ('compute', ticks) or ('exchange', "
          "ticks). "
          "Of a backward also ('compute', ticks, 'weights') for what its weight pass has; all else is "
          "of "
          "its input pass. layers: how many there are; the backward goes through them from the last.")
      .def_prop_ro(
          "forward",
          [](stage_parts const& s) {
            std::vector<plain_part> all;
            for (auto& [word, ticks, of] : words_of(s.forward)) all.emplace_back(word, ticks);
            return all;
          },
          "The parts of all layers.")
      .def_prop_ro(
          "backward", [](stage_parts const& s) { return words_of(s.backward); },
          "The parts of all layers, each of the 'input' pass or of the 'weights' pass.")
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__repr__", [](stage_parts const& s) {
        return "<StageParts: " + std::to_string(s.forward.size()) + " of a forward, "
               + std::to_string(s.backward.size()) + " of a backward>";
      });
  refuse_others(of_stages);
  nb::class_<part_costs> of_costs(m, "PartCosts", "The parts of the passes of all stages.");
  of_costs
      .def(
          "__init__",
          [](part_costs* made, std::vector<stage_parts> stages, std::string const& pairs) {
            new (made) part_costs(make_parts(std::move(stages), pairs));
          },
          "stages"_a, "pairs"_a = "best",
          "One entry for all stages, or one each. pairs: how the parts of a forward and a backward "
          "alternate that run as a pair: 'best', 'in turn', or 'in turn, weights delayed'.")
      .def_prop_ro("stages", [](part_costs const& c) { return c.stages; })
      .def("order_of_pair", &order_of_pair, "forward"_a, "backward"_a, "kind"_a = "backward",
           "Order in which the parts of a pair run: whether each belongs to the backward. The parts of "
           "a pass keep their order. forward, backward: the stages of the passes. kind: 'backward', "
           "'backward_input' or 'backward_weight'.")
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__repr__", [](part_costs const& c) {
        return "<PartCosts: of " + std::to_string(c.stages.size())
               + (c.stages.size() == 1 ? " stage>" : " stages>");
      });
  refuse_others(of_costs);
  bind_timeline(m);
  m.def("read_parts", &read_parts, "text"_a, "name"_a = "",
        "What the passes of a file of costs consist of, in the ticks of `read_costs`; None if it does "
        "not say so. name: of the file, for messages. Raises ValueError as `read_costs` does.");
}

}  // namespace python
