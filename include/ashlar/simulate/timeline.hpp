// When each instruction of a program starts and ends, and what it waited for.
#pragma once

#include <ashlar/core/ticks.hpp>

#include <vector>

namespace ashlar {

// One instruction of the timeline, by its index in the program.
struct timed_instruction {
  tick start = 0;
  tick end = 0;    // of a receive: the value is there; of a send: its slot may be overwritten
  tick made = 0;   // when what it needs from elsewhere was ready there, transfers apart
  int cause = -1;  // the instruction that it started right after; -1: it started at tick 0

  friend constexpr bool operator==(timed_instruction const&, timed_instruction const&) = default;
};

// The times of all instructions of a program, simulated or measured, in ticks.
struct timeline {
  std::vector<timed_instruction> timed;  // by index into the program's instructions
  tick makespan = 0;                     // end of the last instruction

  friend constexpr bool operator==(timeline const&, timeline const&) = default;
};

}  // namespace ashlar
