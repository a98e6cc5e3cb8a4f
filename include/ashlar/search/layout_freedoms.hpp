// What a search of layouts does only when it is asked to: other orders of micro-batches, and pairs.
#pragma once

#include <ashlar/search/layouts.hpp>

#include <cstdint>
#include <vector>

namespace ashlar {

// Each layout as it is and, where order_for() finds one that helps, with its micro-batches in another
// order. Of a span the span counts, of all else the makespan. Throws as order_for().
std::vector<layout_choice> with_orders(std::vector<layout_choice> const& plain, objective aim);

// Pairs in what was found, where they make it shorter, in as many evaluations of a whole schedule; then
// the bound is that of schedules with pairs. What was found for another objective than the span counts
// by its makespan from then on. Throws as the other braid().
void braid(searched_layout& found, std::int64_t evaluations);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/search/layout_freedoms.ipp>
#endif
