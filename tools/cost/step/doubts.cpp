#include <ashlar/cost/step/doubts.hpp>
#include <ashlar/cost/step/step.hpp>

#include <cmath>

namespace ashlar::cost {

namespace doubts_detail {

inline void must_be_constants(std::vector<std::size_t> const& of) {
  for (std::size_t i : of)
    if (i >= constant_count)
      throw unpredictable(requirement::doubts_are_of_constants, static_cast<long long>(i),
                          constant_count);
}

}  // namespace doubts_detail

void check(constant_doubts const& doubts) {
  doubts_detail::must_be_constants(doubts.of);
  if (std::size_t const n = doubts.of.size(); doubts.covariance.size() != n * n)
    throw unpredictable(requirement::doubts_are_of_constants,
                        static_cast<long long>(doubts.covariance.size()), static_cast<long long>(n * n));
}

std::vector<double> slopes_of(question const& q, std::vector<stage> const& stages, constants const& c,
                              std::vector<std::size_t> const& of) {
  doubts_detail::must_be_constants(of);
  constexpr double little = 1e-3;
  double const now = std::log(step_of(q, stages, c).seconds);
  std::vector<double> slopes;
  for (std::size_t i : of) {
    constants moved = c;
    moved.*constant_names[i].value *= 1 - little;  // a share stays below 1
    slopes.push_back((std::log(step_of(q, stages, moved).seconds) - now) / std::log(1 - little));
  }
  return slopes;
}

double step_variance(question const& q, std::vector<stage> const& stages, constants const& c,
                     constant_doubts const& doubts) {
  check(doubts);
  std::vector<double> const slopes = slopes_of(q, stages, c, doubts.of);
  std::size_t const n = slopes.size();
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) sum += slopes[i] * doubts.covariance[i * n + j] * slopes[j];
  return sum > 0 ? sum : 0;
}

}  // namespace ashlar::cost
