// The tokens of one step, and how they are drawn from a text.
#pragma once

#include "config.hpp"
#include "embedding.hpp"
#include "initial.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpt {

// The tokens of all micro-batches, each sequences x context, and for each the one that follows it.
struct batch {
  std::vector<token> inputs;
  std::vector<token> targets;
};

// Draws random passages of the text, the same for the same seed and step on every machine. Throws
// std::runtime_error if the text is too short for one.
inline batch sample(std::span<token const> text, config const& shape, std::uint64_t seed,
                    std::uint64_t step) {
  auto const context = static_cast<std::size_t>(shape.context);
  if (text.size() <= context) {
    throw std::runtime_error("a text of " + std::to_string(text.size())
                             + " bytes is too short: a context of " + std::to_string(context)
                             + " tokens needs at least " + std::to_string(context + 1));
  }
  std::mt19937_64 next(seed_of("step " + std::to_string(step), seed));
  batch tokens;
  tokens.inputs.reserve(static_cast<std::size_t>(shape.tokens()));
  tokens.targets.reserve(static_cast<std::size_t>(shape.tokens()));
  for (int i = 0; i < shape.tokens() / shape.context; ++i) {
    // The remainder favours small numbers by less than 1 in 2^30 for any text that fits in memory.
    auto const passage = text.subspan(next() % (text.size() - context), context + 1);
    tokens.inputs.insert(tokens.inputs.end(), passage.begin(), passage.end() - 1);
    tokens.targets.insert(tokens.targets.end(), passage.begin() + 1, passage.end());
  }
  return tokens;
}

}  // namespace gpt
