// A better order of a run's passes than a schedule of the catalog has.
#pragma once

#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/answer.hpp>
#include <ashlar/cost/step/constants.hpp>

#include <cstdint>
#include <vector>

namespace ashlar::cost {

// Searches for a shorter order of these passes, with backwards split, within the memory of each device,
// and dispatches this many passes. Returns the question with that order if predict_run() says that it
// fits and takes less than `seconds`; else none. Throws unpredictable, and
// violation where the catalog has no such schedule.
std::vector<question> improved_order(question const& q, constants const& c, double seconds,
                                     std::int64_t passes);

}  // namespace ashlar::cost
