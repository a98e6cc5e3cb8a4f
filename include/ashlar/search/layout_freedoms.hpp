// Freedoms that a search of layouts takes only on request: other orders of micro-batches, and pairs.
#pragma once

#include <ashlar/search/layouts.hpp>

#include <cstdint>
#include <vector>

namespace ashlar {

// Adds to each layout, where order_for() finds one that helps, one with its micro-batches in another
// order. For a span the span counts, for all else the makespan. Throws as order_for().
std::vector<layout_choice> with_orders(std::vector<layout_choice> const& plain, objective aim);

// Puts pairs into the schedule found, where they make it shorter, in as many evaluations of a whole
// schedule; then the bound is that of schedules with pairs. A result for another objective than the span
// counts by its makespan from then on. Throws as the other braid().
void braid(searched_layout& found, std::int64_t evaluations);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/search/layout_freedoms.ipp>
#endif
