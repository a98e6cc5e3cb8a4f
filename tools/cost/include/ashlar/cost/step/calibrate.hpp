// Fits a machine's constants to runs that were measured on it.
#pragma once

#include <ashlar/cost/step/doubts.hpp>

#include <vector>

namespace ashlar::cost {

// The result of calibrate().
struct calibration {
  constants fitted;
  constant_doubts doubts;             // that the runs leave
  std::vector<double> before, after;  // predicted over measured, for each run
  std::vector<double> alone;  // likewise, by constants that the run itself told nothing, to first order
  double misfit = 0;          // squares of errors and of constants' changes, each over its variance
};

// Fits the constants that have a spread between sources. Errors are logarithms of predicted over
// measured, and constants are drawn to `start`: the most likely values, if errors have a standard
// deviation of 4 % (linear beyond it) and constants those of `spread`. More than ten runs tell as much
// as ten, because runs of a source have errors in common. O(runs x constants) steps a round, 30 rounds
// at most. Throws unpredictable, also unless each run has measured seconds above zero.
calibration calibrate(std::vector<question> const& runs, std::vector<double> const& measured,
                      constants const& start, constant_spreads const& spread);

// Predicted over measured for each run, by constants fitted without a fifth of the runs, which has this
// one; empty for fewer than ten. Five times the time of calibrate(). Throws as it does.
std::vector<double> ratios_left_out(std::vector<question> const& runs,
                                    std::vector<double> const& measured, constants const& start,
                                    constant_spreads const& spread);

}  // namespace ashlar::cost
