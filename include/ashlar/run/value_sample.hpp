// A random sample of many values.
#pragma once

#include <ashlar/core/language.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace ashlar {

// A fair sample of any number of values: each value is equally likely to be in it.
class value_sample {
 public:
  static constexpr std::size_t most = 4096;

  // Adds a value, which is kept or not, at random.
  void add(double value, std::mt19937_64& random) {
    ++came_;
    if (kept_.size() < most)
      kept_.push_back(value);
    else if (std::uint64_t const at = random() % came_; at < most)
      kept_[static_cast<std::size_t>(at)] = value;
  }
  std::vector<double> const& kept() const { return kept_; }

 private:
  std::vector<double> kept_;
  std::uint64_t came_ = 0;
};

}  // namespace ashlar
