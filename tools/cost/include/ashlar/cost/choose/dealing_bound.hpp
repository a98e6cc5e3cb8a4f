// The least that a step takes, however its layers are divided.
#pragma once

#include <ashlar/cost/choose/dealing_segments.hpp>

#include <memory>
#include <vector>

namespace ashlar::cost::dealing_detail {

// Seconds that no division of the question's layers comes below, with virtual stages or without. `asked`
// and `kinds` have the question of each kind of device and its segments; `lost` is the stragglers'
// factor.
//
// In any order of its passes, device d works n W_d, waits for the forward of d stages before its first
// pass, and for their backwards after its last. The busiest device's W is at least the mean and, where
// layers are alike, at least the load of whole layers beside the head. Every kind counts as fast as
// the fastest is with each part.
double least_seconds(question const& q, std::vector<question const*> const& asked,
                     std::vector<std::unique_ptr<segments>> const& kinds, double lost,
                     constants const& c);

}  // namespace ashlar::cost::dealing_detail
