// The inputs that each pass of a schedule waits for, to draw arrows and flows along the data.
#pragma once

#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// A pass and the passes that it waits for.
struct needing_pass {
  pass what;
  int device = 0;
  tick start = 0;
  tick end = 0;
  std::vector<std::size_t> needs;  // numbers of the passes that give its inputs
};

// The passes of the schedule, numbered device by device in their order, each with its inputs. An input
// that no pass gives is left out; the inputs of a collective's sum are replaced by the passes that gave
// them. Throws violation{check_form(s)}. Linear.
std::vector<needing_pass> needs_of(schedule const& s);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/needs.ipp>
#endif
