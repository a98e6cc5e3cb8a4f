// When devices have weights whole that data-parallel ranks keep in shards.
#include "bindings.hpp"
#include <ashlar/search/residency.hpp>

#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace python {

namespace {

using ashlar::residency;
using ashlar::residency_choice;
using ashlar::schedule;
using stay = std::tuple<int, int, int, int>;

std::vector<std::vector<stay>> stays_of(residency const& r) {
  std::vector<std::vector<stay>> all;
  for (auto const& of_device : r.stays) {
    all.emplace_back();
    for (ashlar::weight_stay const& s : of_device)
      all.back().emplace_back(s.stage, s.buffer, s.fetch, s.last);
  }
  return all;
}

residency of_stays(std::vector<std::vector<stay>> const& all) {
  residency made;
  for (auto const& of_device : all) {
    made.stays.emplace_back();
    for (auto const& [stage, in, fetch, last] : of_device)
      made.stays.back().push_back({stage, in, fetch, last});
  }
  return made;
}

residency planned(schedule const& s, int stages, std::optional<int> lookahead,
                  std::optional<int> passes_ahead) {
  within("stages", stages, 1, limits::devices);
  if (lookahead && passes_ahead)
    throw nb::value_error("lookahead is of PyTorch's rule, and passes_ahead of the other one");
  return ashlar::planned_residency(
      s, {.stages = stages,
          .lookahead = within("lookahead", lookahead.value_or(stages), 1, stages),
          .passes_ahead = within("passes_ahead", passes_ahead.value_or(0), 0, limits::passes),
          .window = !passes_ahead});
}

residency_choice chosen(schedule const& s, given_memory const& memory, int data_ranks, int stages,
                        std::optional<limit_words> const& limit,
                        std::optional<ashlar::costs> const& cost) {
  ashlar::simulation_options const o{.cost = cost ? *cost : s.cost, .memory = memory_of(memory)};
  ashlar::residency_limit room{.stages = within("stages", stages, 1, limits::devices)};
  if (limit) room.budgets = budgets_of(*limit);
  nb::gil_scoped_release const others_run;
  return ashlar::choose_residency(s,
                                  {.data_ranks = within("data_ranks", data_ranks, 2, limits::data_ranks),
                                   .sharding = ashlar::sharding_level::weights},
                                  o, room);
}

}  // namespace

void bind_residency(nb::module_& m) {
  nb::class_<residency>(m, "Residency",
                        "When each device has the weights of a stage whole, for `lower(residency=)` and "
                        "`torch.pipeline(residency=)`.")
      .def(
          "__init__",
          [](residency* self, std::vector<std::vector<stay>> const& stays) {
            new (self) residency(of_stays(stays));
          },
          "stays"_a, "Takes for each device its stays: (stage, buffer, fetch, last).")
      .def_prop_ro("stays", &stays_of,
                   "For each device (stage, buffer, fetch, last): weights are gathered before the "
                   "device's pass number `fetch` and given up behind pass `last`.")
      .def_prop_ro(
          "gathers", [](residency const& r) { return r.gather_count(); },
          "How often weights are gathered, on all devices.")
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__repr__", [](residency const& r) {
        return "<Residency: " + std::to_string(r.gather_count()) + " gathers on "
               + std::to_string(r.stays.size()) + " devices>";
      });
  nb::class_<residency_choice>(m, "ResidencyChoice", "A plan of residency, and its simulated step.")
      .def_ro("residency", &residency_choice::weights)
      .def_ro("makespan", &residency_choice::makespan, "The step, in ticks.")
      .def_ro("peak", &residency_choice::peak, "The most that each device holds.")
      .def_prop_ro("fits", &residency_choice::fits, "Whether no device holds more than its limit.");
  m.def("planned_residency", &planned, "schedule"_a, "stages"_a = 3, "lookahead"_a = nb::none(),
        "passes_ahead"_a = nb::none(),
        "stages: the most that are whole on a device at once. By PyTorch's rule these are the next "
        "ones, and "
        "the first `lookahead` (all) of them are gathered. With passes_ahead, a stage that is missing "
        "takes the place "
        "of the one that is read furthest in the future, of those that were last read at least that "
        "many passes "
        "before.");
  m.def(
      "choose_residency", &chosen, "schedule"_a, "memory"_a, "data_ranks"_a, "stages"_a = 3,
      "limit"_a = nb::none(), "costs"_a = nb::none(),
      "The plan with the shortest simulated step: never longer than by PyTorch's rule. memory: one "
      "StageMemory for all stages, or one each; limit: what devices may hold, one for all or one each; "
      "costs: with ring_bandwidth (the schedule's own).");
}

}  // namespace python
