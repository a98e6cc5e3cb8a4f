// Seeded initial values that do not depend on how the model is cut, on the scalar type or on the
// standard library.
#pragma once

#include "linear.hpp"
#include "tensor.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <string_view>

namespace gpt {

// A seed of its own for everything that has a name (FNV-1a), mixed with the user's seed.
constexpr std::uint64_t seed_of(std::string_view name, std::uint64_t seed) {
  std::uint64_t hash = 14695981039346656037U ^ (seed * 0x9e3779b97f4a7c15U);
  for (char const c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211U;
  }
  return hash;
}

// Standard normal numbers. The standard fixes the output of mt19937_64 but not of normal_distribution.
class normal_numbers {
 public:
  explicit normal_numbers(std::uint64_t seed) : bits_(seed) {}

  // Skips `count` numbers.
  void skip(std::size_t count) { bits_.discard(2 * count); }

  double operator()() {
    double const radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  // Returns a number in [0, 1).
  double uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }

  std::mt19937_64 bits_;
};

template <class Scalar>
void initialise(tensor_description const& what, std::uint64_t seed, matrix<Scalar> const& tensor) {
  normal_numbers next(seed_of(what.name, seed));
  tensor_part const part = what.part;
  if (what.deviation != 0)
    next.skip(tensor.size() / static_cast<std::size_t>(part.count)
              * static_cast<std::size_t>(part.first));
  for (Scalar& value : tensor.flat()) {
    value = static_cast<Scalar>(what.deviation == 0 ? what.mean : what.mean + what.deviation * next());
  }
}

}  // namespace gpt
