// The use of each device's time.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/simulate/timeline.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Ticks of a device's compute lane; the five sum to the makespan.
//
// An idle tick is `exposed` when the inputs of the device's next pass had already been made somewhere:
// it waits for a latency, for bytes, for a lane, a partner or a buffer. Reductions that hold the lane or
// run after its last pass are exposed too. Every other idle tick is `warm_up` before the start of the
// device's first backward (where there is none, of its first pass), `cool_down` after that and after the
// end of its last forward, and `steady` in between.
struct device_usage {
  tick busy = 0;
  tick warm_up = 0;
  tick steady = 0;
  tick cool_down = 0;
  tick exposed = 0;

  constexpr tick idle() const { return warm_up + steady + cool_down + exposed; }

  friend constexpr bool operator==(device_usage const&, device_usage const&) = default;
};

namespace simulate_detail {

// The usage of a timeline that passes check().
constexpr std::vector<device_usage> usage_of(program const& p, timeline const& line) {
  std::vector<device_usage> all;
  for (int d = 0; d < p.device_count(); ++d) {
    auto const first = static_cast<std::size_t>(stream_begin(p, d));
    auto const last = static_cast<std::size_t>(stream_end(p, d));
    tick warm = -1, first_pass = line.makespan, cool = 0;
    for (std::size_t i = first; i < last; ++i) {
      pass_kind const kind = p.instructions[i].what.kind;
      timed_instruction const& t = line.timed[i];
      if (p.instructions[i].code != opcode::compute) continue;
      first_pass = min_of(first_pass, t.start);
      if (warm < 0 && gives_input_gradient(kind)) warm = t.start;
      if (kind == pass_kind::forward) cool = t.end;
    }
    if (warm < 0) warm = first_pass;
    cool = max_of(cool, warm);

    device_usage use;
    auto const idle = [&](tick from, tick to) {  // not exposed
      auto const part = [&](tick low, tick high) {
        return max_of(min_of(to, high) - max_of(from, low), tick{0});
      };
      use.warm_up += part(0, warm);
      use.steady += part(warm, cool);
      use.cool_down += part(cool, line.makespan);
    };
    tick free = 0;
    for (std::size_t i = first; i < last; ++i) {
      instruction const& self = p.instructions[i];
      timed_instruction const& t = line.timed[i];
      if (self.lane != compute_lane) continue;
      if (i > first && p.instructions[i - 1].overlaps_next) continue;  // with the one before
      tick const made = max_of(free, min_of(t.made, t.start));
      idle(free, made);
      use.exposed += t.start - made;
      (self.code == opcode::compute ? use.busy : use.exposed) += t.end - t.start;
      free = t.end;
    }
    for (std::size_t i = first; i < last; ++i) {
      timed_instruction const& t = line.timed[i];
      if (p.instructions[i].code != opcode::all_reduce || t.end <= free
          || p.instructions[i].subject == slot_kind::scalar)
        continue;
      tick const begin = max_of(t.start, free);
      idle(free, begin);
      use.exposed += t.end - begin;
      free = t.end;
    }
    idle(free, line.makespan);
    all.push_back(use);
  }
  return all;
}

}  // namespace simulate_detail

// The usage of each device. Throws violation with check(line, p). Linear.
constexpr std::vector<device_usage> usage_of(program const& p, timeline const& line) {
  if (diagnosis const d = check(line, p); !d.ok()) refuse(d);
  return simulate_detail::usage_of(p, line);
}

}  // namespace ashlar
