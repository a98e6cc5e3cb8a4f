// Fits the constants of a time model to measured times. The model is linear in the constants.
#pragma once

#include <vector>

namespace ashlar {

// The weights, none negative, with the least sum over the rows of (weights . row / measured - 1)^2:
// relative errors count alike. Cyclic coordinate descent (Lawson and Hanson's problem; convex, so it
// ends at the best), so many rounds of O(rows x weights). Rows are of equal length, measured times
// positive.
std::vector<double> fit_nonnegative(std::vector<std::vector<double>> const& rows,
                                    std::vector<double> const& measured, int rounds = 3000);

double weighted_sum(std::vector<double> const& weights, std::vector<double> const& row);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/plan/least_squares.ipp>
#endif
