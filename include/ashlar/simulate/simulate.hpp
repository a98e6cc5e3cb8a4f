// program -> simulation: the time and memory of running it.
#pragma once

#include <ashlar/core/pipe.hpp>
#include <ashlar/simulate/bound.hpp>
#include <ashlar/simulate/critical_path.hpp>
#include <ashlar/simulate/machine.hpp>
#include <ashlar/simulate/memory.hpp>
#include <ashlar/simulate/options.hpp>
#include <ashlar/simulate/timeline.hpp>
#include <ashlar/simulate/usage.hpp>

#include <utility>
#include <vector>

namespace ashlar {

// The result of simulate(). Times are ticks.
struct simulation {
  timeline line;                      // start and end of every instruction
  std::vector<device_usage> usage;    // by device
  std::vector<path_step> critical;    // from tick 0 to the makespan
  std::vector<device_memory> memory;  // by device

  constexpr tick makespan() const { return line.makespan; }

  friend constexpr bool operator==(simulation const&, simulation const&) = default;
};

// Returns only the times. Linear in instructions and waits; throws as timed_machine does.
constexpr timeline time_program(program const& p, simulation_options const& o) {
  return timed_machine(p, o).run();
}

// Runs the program on the lanes of the engine: each in its order, an instruction waiting for what
// `waits` says. All that the program must satisfy is that its transfers come in pairs. If it gets stuck,
// it is refused with the instruction and what it waits for.
//
// Let p = lower(squeeze(s)) for a schedule s whose costs are those of the options. Then every pass
// starts when it does in squeeze(s), and the makespan is the same,
//   * if transfers and reductions take no time, and
//   * if links have no bytes to move and a latency that does not hold the lane,
// in both modes and with one transfer lane or one a peer: the times of squeeze(s), with each transfer
// at the end of its producer, meet everything that the machine waits for, and a machine that starts
// everything as early as it can is never later. A latency that holds its lane delays the next transfer
// on it, and is exact only where transfers of a lane are that far apart.
//
// Linear, but for the memory: O(n log n) in the operands.
constexpr simulation simulate(program const& p, simulation_options const& o) {
  simulation s;
  s.line = time_program(p, o);
  s.usage = simulate_detail::usage_of(p, s.line);
  s.critical = simulate_detail::path_of(s.line);
  s.memory = simulate_detail::memory_of(p, s.line, o);
  return s;
}

constexpr auto simulate(simulation_options options) {
  return closure([o = std::move(options)](program const& p) { return simulate(p, o); });
}

}  // namespace ashlar
