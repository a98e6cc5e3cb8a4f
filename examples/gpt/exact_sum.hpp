// A sum without rounding, whose bits do not depend on the order of what is added.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace gpt {

// A sum of doubles that are not negative: a number in fixed point with digits for all of them, the
// lowest first. (Kulisch, Computer Arithmetic and Validity, 2008: the long accumulator.)
class exact_sum {
 public:
  // The digits, and after them whether anything was not finite.
  static constexpr std::size_t digit_count = 67;
  using words = std::array<std::uint64_t, digit_count + 1>;

  exact_sum() = default;
  explicit exact_sum(words const& of_another) : words_(of_another) {}
  words const& as_words() const { return words_; }

  void add(double value) {
    place(value);
    carry();
  }
  void add(exact_sum const& other) {
    for (std::size_t i = 0; i < digit_count; ++i) words_[i] += other.words_[i];
    words_.back() |= other.words_.back();
    carry();
  }
  // Takes at most 2^31 values. Squares of floats are exact; those of doubles are rounded, each by
  // itself.
  template <class Scalar>
  void add_squares(std::span<Scalar const> values) {
    for (Scalar const x : values) place(static_cast<double>(x) * static_cast<double>(x));
    carry();
  }

  // Returns NaN if any summand is not finite.
  double value() const {
    if (words_.back() != 0) return std::numeric_limits<double>::quiet_NaN();
    double total = 0;
    for (std::size_t i = 0; i < digit_count; ++i)
      total +=
          std::ldexp(static_cast<double>(words_[i]), static_cast<int>(i) * digit_bits + least_exponent);
    return total;
  }

  friend bool operator==(exact_sum const&, exact_sum const&) = default;

 private:
  static constexpr int digit_bits = 32;
  static constexpr int least_exponent = -1074;  // of the smallest double's only bit
  static constexpr std::uint64_t digit_mask = (std::uint64_t{1} << digit_bits) - 1;

  // A digit may be too large afterwards.
  void place(double value) {
    constexpr int fraction_bits = 52;
    constexpr std::uint64_t hidden = std::uint64_t{1} << fraction_bits, special = 2047;
    auto const bits = std::bit_cast<std::uint64_t>(value);
    std::uint64_t const exponent = bits >> fraction_bits & special;
    if (exponent == special) {
      words_.back() = 1;
      return;
    }
    std::uint64_t const all = (bits & (hidden - 1)) | (exponent == 0 ? 0 : hidden);
    std::uint64_t const position = exponent == 0 ? 0 : exponent - 1;
    std::uint64_t const shift = position % digit_bits, at = position / digit_bits;
    std::uint64_t const low = (all & digit_mask) << shift, high = (all >> digit_bits) << shift;
    words_[at] += low & digit_mask;
    words_[at + 1] += (low >> digit_bits) + (high & digit_mask);
    words_[at + 2] += high >> digit_bits;
  }
  void carry() {
    for (std::size_t i = 0; i + 1 < digit_count; ++i) {
      words_[i + 1] += words_[i] >> digit_bits;
      words_[i] &= digit_mask;
    }
  }

  words words_{};
};

}  // namespace gpt
