// Chooses the bits of each product: the measured loss of each width against its memory.
#pragma once

#include "quantised.hpp"
#include <ashlar/plan/parts/choose.hpp>
#include <ashlar/plan/parts/variants.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace gpt {

inline constexpr std::array<int, 3> bit_widths{3, 4, 8};

// Penalties are losses in these parts of a nat.
inline constexpr double penalties_in_a_nat = 1e9;

// Returns, for each product of each block, a variant for each width: its bytes, and how much the loss on
// `tokens` grows if it alone has that width and all others have eight bits.
template <class Scalar>
std::vector<std::vector<ashlar::variant>> measured_widths(config const& shape,
                                                          std::span<Scalar const> weights,
                                                          batch const& tokens) {
  auto const count = static_cast<std::size_t>(shape.blocks * quantised_model<Scalar>::products_of_block);
  std::vector<int> bits(count, bit_widths.back());
  double const best = loss_of(quantised_model<Scalar>(shape, weights, bits), shape, tokens);
  std::vector<std::vector<ashlar::variant>> widths(count);
  for (std::size_t product = 0; product < count; ++product)
    for (int width : bit_widths) {
      bits[product] = width;
      quantised_model<Scalar> const model(shape, weights, bits);
      double const more = std::max(0.0, loss_of(model, shape, tokens) - best);
      widths[product].push_back({.memory = static_cast<ashlar::byte_count>(model.bytes()[product]),
                                 .penalty = std::llround(more * penalties_in_a_nat)});
      bits[product] = bit_widths.back();
    }
  return widths;
}

// Gives all products one width, number `which` of bit_widths.
inline ashlar::choice uniform_width(std::vector<std::vector<ashlar::variant>> const& widths, int which) {
  ashlar::choice c;
  for (std::vector<ashlar::variant> const& each : widths) {
    c.of.push_back(which);
    c.what = side_by_side(c.what, each[static_cast<std::size_t>(which)]);
  }
  return c;
}

inline std::vector<int> bits_of(ashlar::choice const& c) {
  std::vector<int> bits;
  for (int which : c.of) bits.push_back(bit_widths[static_cast<std::size_t>(which)]);
  return bits;
}

}  // namespace gpt
