// Activations that leave for the hosts of a schedule's devices.
#include "bindings.hpp"
#include <ashlar/interop/pass_token.hpp>
#include <ashlar/search/offload.hpp>

#include <nanobind/operators.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace python {

namespace {

using ashlar::offload_choice;
using ashlar::schedule;

// Uses the given costs, else the schedule's own.
ashlar::host_link host_of(schedule const& s, std::optional<ashlar::costs> const& cost) {
  return cost ? cost->on.host : s.cost.on.host;
}

std::vector<ashlar::pass> forwards_of(std::vector<std::string> const& tokens) {
  std::vector<ashlar::pass> all;
  for (std::string const& token : tokens) {
    auto const what = ashlar::read_pass(token, false);
    if (!what || what->kind != ashlar::pass_kind::forward)
      throw nb::value_error(
          ("a forward is written like 0F1, not '" + token.substr(0, 64) + "'").c_str());
    all.push_back(*what);
  }
  return all;
}

offload_choice selective(schedule const& s, given_memory const& memory, limit_words const& limit,
                         std::optional<ashlar::costs> const& cost) {
  return ashlar::selective_offload(s, {.memory = memory_of(memory), .budget = budgets_of(limit)},
                                   host_of(s, cost));
}

offload_choice share(schedule const& s, given_memory const& memory, int percent,
                     std::optional<ashlar::costs> const& cost) {
  return ashlar::offload_share(s, memory_of(memory), host_of(s, cost),
                               within("percent", percent, 0, 100));
}

offload_choice exactly(schedule const& s, given_memory const& memory,
                       std::vector<std::string> const& forwards, std::optional<limit_words> const& limit,
                       std::optional<ashlar::costs> const& cost) {
  ashlar::memory_limit room{.memory = memory_of(memory), .budget = {ashlar::max_tick - 1}};
  if (limit) room.budget = budgets_of(*limit);
  return ashlar::offload_exactly(s, room, host_of(s, cost), forwards_of(forwards));
}

}  // namespace

void bind_offload(nb::module_& m) {
  nb::class_<offload_choice>(m, "Offload",
                             "Activations that leave for the hosts of devices, for `lower(offload=)`.")
      .def_prop_ro(
          "forwards",
          [](offload_choice const& c) {
            std::vector<std::string> all;
            for (ashlar::pass const& what : c.offload.forwards) all.push_back(to_string(what));
            return all;
          },
          "What these keep leaves, and comes back before it is needed.")
      .def_ro("peak", &offload_choice::peak, "The most that each device holds then.")
      .def_ro("host_peak", &offload_choice::host_peak, "The most that lies on each device's host.")
      .def_ro("fits", &offload_choice::fits,
              "Whether no device holds more than the limit, and no pass waits for a copy.")
      .def("__repr__", [](offload_choice const& c) {
        std::size_t const count = c.offload.forwards.size();
        return "<Offload: " + std::to_string(count) + (count == 1 ? " value leaves" : " values leave")
               + (c.fits ? ">" : ", which does not fit>");
      });
  m.def(
      "selective_offload", &selective, "schedule"_a, "memory"_a, "limit"_a, "costs"_a = nb::none(),
      "What lives longest leaves until each device holds no more than its limit, and no pass waits for "
      "a copy. memory: one StageMemory for all stages, or one each; limit: one for all devices, or one "
      "each; costs: with the bandwidth of the hosts' links (the schedule's own).");
  m.def("offload_share", &share, "schedule"_a, "memory"_a, "percent"_a, "costs"_a = nb::none(),
        "At most this percentage of what the forwards of each device keep leaves: what lives longest "
        "first, and only what comes back in time.");
  m.def("offload_exactly", &exactly, "schedule"_a, "memory"_a, "forwards"_a, "limit"_a = nb::none(),
        "costs"_a = nb::none(),
        "What these forwards keep leaves, ['0F1', ...]; `fits` says whether that is within the limit "
        "(none) and in time.");
}

}  // namespace python
