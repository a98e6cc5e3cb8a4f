// Fits a machine's constants to runs that were measured on it.
#pragma once

#include <ashlar/predict/constants.hpp>
#include <ashlar/predict/question.hpp>

#include <vector>

namespace ashlar::predict {

// What calibrate() found.
struct calibration {
  constants fitted;
  std::vector<double> before, after;  // predicted over measured, a run each
  std::vector<double> left_out;  // the same by constants that a run had no part in; empty: too few runs
};

// The shares of products, attention, memory and links, and of exchanges that nothing hides, by least
// squares of the logarithms of predicted over measured, linear beyond 4 %, and drawn to `start` as the
// fit of the tool's own constants is to round numbers. Throws unpredictable, also unless each run has
// measured seconds above zero.
calibration calibrate(std::vector<question> const& runs, std::vector<double> const& measured,
                      constants const& start);

}  // namespace ashlar::predict

#ifndef ASHLAR_COMPILED
#include <ashlar/predict/calibrate.ipp>
#endif
