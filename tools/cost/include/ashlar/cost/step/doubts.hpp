// How well constants are known: standard deviations and covariances of their logarithms.
#pragma once

#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/cost/step/constants.hpp>

#include <array>
#include <cstddef>
#include <vector>

namespace ashlar::cost {

// How many constants there are.
inline constexpr std::size_t constant_count = constant_names.size();

// Standard deviations of the logarithms of constants between sources; 0: it is taken as it is.
using constant_spreads = std::array<double, constant_count>;

// Covariances of the logarithms of some constants, after runs that told of them.
struct constant_doubts {
  std::vector<std::size_t> of;     // numbers in constant_names
  std::vector<double> covariance;  // row by row, in this order
};

// Throws unpredictable{requirement::doubts_are_of_constants} unless there are such constants, and a
// covariance of each two.
void check(constant_doubts const& doubts);

// How much the logarithm of a step grows with that of each constant: by a thousandth each. The question
// has passed its check, and these are its stages. Throws as step_of(), and unpredictable as above for a
// constant that there is not. O(n steps).
std::vector<double> slopes_of(question const& q, std::vector<stage> const& stages, constants const& c,
                              std::vector<std::size_t> const& of);

// The variance of the logarithm of a step that these doubts make. Throws as check(doubts) and
// slopes_of().
double step_variance(question const& q, std::vector<stage> const& stages, constants const& c,
                     constant_doubts const& doubts);

}  // namespace ashlar::cost
