// What repeated measurements say: the middle, and how far they lie apart.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tool {

// Times in nanoseconds. The median of a time stands for it: threads that share a core are interrupted
// now and then, and a mean would count the interruptions.
struct spread {
  double median = 0;
  double low = 0, high = 0;  // quartiles
  long long samples = 0;

  // As long as another time says it to be.
  spread scaled(double factor) const { return {median * factor, low * factor, high * factor, samples}; }
};

inline spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  auto const at = [&](std::size_t quarter) { return values[(values.size() - 1) * quarter / 4]; };
  return {at(2), at(1), at(3), static_cast<long long>(values.size())};
}

}  // namespace tool
