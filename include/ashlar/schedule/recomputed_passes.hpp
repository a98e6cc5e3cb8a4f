// Recomputation of some micro-batches: where a device has room, their stashes stay, and nothing runs
// twice.
#pragma once

#include <ashlar/core/refuse.hpp>
#include <ashlar/model/dependencies.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/tables.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// Runs these forwards once more, and no others; else as recompute(). Throws violation:
// rule::every_pass_is_known for what is no forward of the schedule's stages and micro-batches,
// rule::no_pass_is_doubled for one that is named twice or recomputed already, and as squeeze does.
// Linear.
constexpr schedule recompute_passes(schedule s, std::vector<pass> const& forwards) {
  must_have_form(s);
  result_table<char> named(s.stage_count(), s.micro_batch_count(), 0);
  for (pass const& what : forwards) {
    if (what.kind != pass_kind::forward || what.stage < 0 || what.stage >= s.stage_count()
        || what.micro_batch < 0 || what.micro_batch >= s.micro_batch_count())
      refuse({.broken = rule::every_pass_is_known, .first = {.what = what}});
    char& mark = named.at(what.micro_batch, what.stage, result::recomputed);
    if (mark != 0) refuse({.broken = rule::no_pass_is_doubled, .first = {.what = what}});
    mark = 1;
  }
  return compose_detail::recompute(std::move(s), [&](pass const& what) {
    return named.at(what.micro_batch, what.stage, result::recomputed) != 0;
  });
}

// The sizes of each micro-batch of a schedule: one that it recomputes keeps the checkpoint of its stage,
// any other the whole stash. Throws violation as check_form() and check(memory, ...) say. O(stages *
// micro-batches).
constexpr memory_model memory_of_recomputed(schedule const& s, memory_model const& memory) {
  must_have_form(s);
  must_be(check(memory, s.stage_count(), s.micro_batch_count()));
  int const m = s.micro_batch_count();
  result_table<char> again(s.stage_count(), m, 0);
  for (auto const& order : s.order)
    for (timed_pass const t : each_pass(order))
      if (t.what.kind == pass_kind::recompute)
        again.at(t.what.micro_batch, t.what.stage, result::recomputed) = 1;
  memory_model made{.stages = {}, .shared = {}, .micro_batches = m};
  for (int stage = 0; stage < s.stage_count(); ++stage) {
    bool any = false;
    for (int k = 0; k < m; ++k) any = any || again.at(k, stage, result::recomputed) != 0;
    for (int k = 0; k < m; ++k) {
      stage_memory own = memory.of(stage, k);
      if (!any)
        own.checkpoint = stage_memory::all;
      else if (own.recomputes() && again.at(k, stage, result::recomputed) == 0)
        own.checkpoint = own.stash;
      made.stages.push_back(own);
    }
  }
  auto const row = static_cast<std::size_t>(memory.period());
  for (std::size_t group = 0; group * row < memory.shared.size(); ++group)
    for (int k = 0; k < m; ++k)
      made.shared.push_back(
          stage_memory(memory.shared[group * row + static_cast<std::size_t>(k) % row]));
  return made;
}

}  // namespace ashlar
