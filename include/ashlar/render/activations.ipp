// Definitions of activations.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/render/activations.hpp>
#include <ashlar/schedule/held_memory.hpp>
#include <ashlar/schedule/tables.hpp>

#include <algorithm>
#include <cstddef>

namespace ashlar {

ASHLAR_INLINE std::vector<std::vector<held_step>> held_activations(schedule const& s) {
  must_have_form(s);
  bool trains = false;
  for (auto const& order : s.order)
    for (timed_pass const t : each_pass(order)) trains = trains || gives_weight_gradient(t.what.kind);
  memory_limit const counted = chunk_activations(0);
  held_memory passes(s, counted.memory, trains ? execution_mode::training : execution_mode::inference);
  std::vector<std::vector<held_step>> all;
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    std::vector<held_step> changes;
    for (timed_pass const t : each_pass(s.order[d])) {
      if (t.what.kind == pass_kind::forward) changes.push_back({t.start, 1});
      if (byte_count const fewer = passes.given_back_by(t.what); fewer > 0)
        changes.push_back({s.end_of(t, static_cast<int>(d)), -static_cast<int>(fewer)});
    }
    std::sort(changes.begin(), changes.end(),
              [](held_step const& a, held_step const& b) { return a.time < b.time; });
    auto& steps = all.emplace_back();
    int held = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      held += changes[i].held;
      bool const last_of_its_time = i + 1 == changes.size() || changes[i + 1].time != changes[i].time;
      if (last_of_its_time && held != (steps.empty() ? 0 : steps.back().held))
        steps.push_back({changes[i].time, held});
    }
  }
  return all;
}

}  // namespace ashlar
