// The median and spread of repeated measurements of a time.
#pragma once

#include <ashlar/core/language.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ashlar {

// Times in nanoseconds. The median represents a time: threads that share a core are interrupted now and
// then, and a mean would count the interruptions.
struct measured_time {
  double median = 0;
  double low = 0, high = 0;  // quartiles
  long long samples = 0;

  // All times multiplied by a factor.
  measured_time scaled(double factor) const {
    return {median * factor, low * factor, high * factor, samples};
  }

  friend bool operator==(measured_time const&, measured_time const&) = default;
};

// The median and quartiles of the values.
inline measured_time measured_time_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  auto const at = [&](std::size_t quarter) { return values[(values.size() - 1) * quarter / 4]; };
  return {at(2), at(1), at(3), static_cast<long long>(values.size())};
}

}  // namespace ashlar
