// A lower bound on the number of steps that work takes.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/fill/options.hpp>
#include <ashlar/fill/part_times.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <vector>

namespace ashlar {

// Parts that fit into no gap of their device, and those that wait for them, by number.
dynamic_array<bool> find_long_parts(schedule const& step, tick length, part_times const& times,
                                    fill_options const& o);

// The earliest start of each part, were it alone: after its inputs, and after the parts that it stands
// behind.
dynamic_array<tick> heads_of(part_times const& times);

// The steps, at least 1, that each device takes for its parts in the order of their heads, if it may
// interrupt them wherever it does not idle (Jackson's rule). No order is faster. O(n log n + gaps).
std::vector<int> step_bound(schedule const& step, tick length, part_times const& times,
                            fill_options const& o);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/fill/step_bound.ipp>
#endif
