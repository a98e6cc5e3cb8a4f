// Fits a machine's constants to runs that were measured on it.
#pragma once

#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/constants.hpp>

#include <vector>

namespace ashlar::cost {

// The result of calibrate().
struct calibration {
  constants fitted;
  std::vector<double> before, after;  // predicted over measured, for each run
  std::vector<double> left_out;  // likewise, by constants fitted without the run; empty: too few runs
};

// Fits the shares of products, attention, memory, links and exposed exchanges. Least squares of the
// logarithms of predicted over measured, linear beyond 4 %, pulled to `start` as the tool's own fit is
// to round numbers. Throws unpredictable, also unless each run has measured seconds above zero.
calibration calibrate(std::vector<question> const& runs, std::vector<double> const& measured,
                      constants const& start);

}  // namespace ashlar::cost
