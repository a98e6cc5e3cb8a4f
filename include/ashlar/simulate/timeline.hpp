// When each instruction of a program starts and ends, and its cause.
#pragma once

#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/prove/well_formed.hpp>

#include <vector>

namespace ashlar {

// One instruction of the timeline, by its index in the program.
struct timed_instruction {
  tick start = 0;
  tick end = 0;    // of a receive: the value is there; of a send: its slot may be overwritten
  tick made = 0;   // when its inputs from elsewhere were ready there, transfers apart
  int cause = -1;  // the instruction that it started right after; -1: it started at tick 0

  friend constexpr bool operator==(timed_instruction const&, timed_instruction const&) = default;
};

// The times of all instructions of a program, simulated or measured, in ticks.
struct timeline {
  std::vector<timed_instruction> timed;  // by index into the program's instructions
  tick makespan = 0;                     // end of the last instruction

  friend constexpr bool operator==(timeline const&, timeline const&) = default;
};

// Checks that every instruction ends within the makespan and not before it starts, right after an
// existing one. Linear.
constexpr diagnosis check(timeline const& line) {
  if (line.makespan < 0 || line.makespan >= max_tick)
    return {.broken = rule::ticks_fit, .number = line.makespan};
  for (timed_instruction const& t : line.timed) {
    if (t.start < 0 || t.end < t.start || t.end > line.makespan || t.made < 0)
      return {.broken = rule::ticks_fit, .number = t.end};
    if (t.cause < -1 || t.cause >= static_cast<int>(line.timed.size()))
      return {.broken = rule::tables_agree, .number = t.cause};
  }
  return {};
}

// Checks also that they fit the program. Linear.
constexpr diagnosis check(timeline const& line, program const& p) {
  if (diagnosis const d = check_well_formed(p); !d.ok()) return d;
  if (line.timed.size() != p.instructions.size())
    return wrong_size(table::timed_instructions, line.timed.size(),
                      static_cast<std::int64_t>(p.instructions.size()));
  return check(line);
}

}  // namespace ashlar
