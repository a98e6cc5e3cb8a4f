// The chain of passes and transfers that determines the makespan.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/simulate/timeline.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// An instruction on the path, from its start until the next one could start because of it.
struct path_step {
  int index = 0;  // into the program's instructions
  tick from = 0;
  tick until = 0;

  friend constexpr bool operator==(path_step const&, path_step const&) = default;
};

namespace simulate_detail {

// The path of a timeline that passes check().
constexpr std::vector<path_step> path_of(timeline const& line) {
  std::vector<path_step> path;
  int const count = static_cast<int>(line.timed.size());
  int at = 0, left = count;  // causes of no simulation may go round in a circle
  while (at < count && nth(line.timed, at).end < line.makespan) ++at;
  for (tick until = line.makespan; at >= 0 && at < count && left > 0; --left) {
    timed_instruction const& t = nth(line.timed, at);
    if (t.start < until) path.push_back({at, t.start, until});
    until = t.start;
    at = t.cause;
  }
  reverse(path);
  return path;
}

}  // namespace simulate_detail

// The path goes from tick 0 to the makespan without a gap: to finish earlier, one of its instructions
// has to become shorter. Instructions that take no time are left out. If there are several such chains,
// this is the chain of the first instruction that ends last. Throws violation with
// check(line). Linear.
constexpr std::vector<path_step> critical_path(timeline const& line) {
  if (diagnosis const d = check(line); !d.ok()) refuse(d);
  return simulate_detail::path_of(line);
}

}  // namespace ashlar
