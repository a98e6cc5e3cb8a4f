// Shared parts of several tests of the model.
#pragma once

#include "gpt/batch.hpp"
#include "gpt/config.hpp"
#include "gpt/worker.hpp"
#include "sequential.hpp"
#include <ashlar/program/program.hpp>
#include <ashlar/program/slot_sizes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gpt_test {

// A small model, with sizes that no vector register divides.
inline gpt::config tiny(int stages, int blocks = 2) {
  return {.blocks = blocks,
          .width = 10,
          .heads = 2,
          .context = 5,
          .sequences = 2,
          .micro_batches = 2,
          .stages = stages};
}

// Its products have several tiles, its attention whole vectors.
inline gpt::config small(int stages) {
  return {.blocks = 3,
          .width = 48,
          .heads = 3,
          .context = 20,
          .sequences = 3,
          .micro_batches = 2,
          .stages = stages};
}

inline gpt::config tied(gpt::config shape) {
  shape.tied = true;
  return shape;
}

// Adds a prediction layer whose loss counts.
inline gpt::config predicting(gpt::config shape) {
  shape.tied = shape.predicts = true;
  shape.prediction = 0.7;
  return shape;
}

// Puts that layer in a stage of its own.
inline gpt::config predicting_apart(gpt::config shape,
                                    gpt::prediction_place place = gpt::prediction_place::behind_head) {
  shape = predicting(shape);
  shape.predicted = place;
  return shape;
}

// A text with some structure: words of a few letters.
inline std::vector<gpt::token> text(std::size_t size) {
  std::vector<gpt::token> bytes(size);
  std::uint32_t state = 1;
  for (auto& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<gpt::token>(state >> 30 == 0 ? ' '
                                                    : 'a' + (&byte - bytes.data()) % 7 + (state >> 31));
  }
  return bytes;
}

inline gpt::batch batch_for(gpt::config const& shape, std::uint64_t step = 0) {
  return gpt::sample(text(2000), shape, 5, step);
}

enum class which : unsigned char { weight, gradient };

// All tensors of the model by name, for any stages.
template <class Scalar>
std::map<std::string, std::vector<Scalar>> tensors(gpt::worker<Scalar>& w, which what) {
  std::map<std::string, std::vector<Scalar>> result;
  for (int group = 0; group < w.shape().groups(); ++group) {
    w.visit(group, [&](auto const& description, auto const& weight, auto const& gradient) {
      auto const values = (what == which::weight ? weight : gradient).flat();
      auto const entry = values.size() / static_cast<std::size_t>(description.part.count);
      auto& whole = result[description.name];
      whole.resize(entry * static_cast<std::size_t>(description.part.of));
      std::ranges::copy(values,
                        whole.begin() + static_cast<std::ptrdiff_t>(entry) * description.part.first);
    });
  }
  return result;
}

// The results of a step of a fresh model.
template <class Scalar>
struct outcome {
  std::vector<double> losses;
  std::map<std::string, std::vector<Scalar>> gradients;

  bool operator==(outcome const&) const = default;
};

template <class Scalar>
outcome<Scalar> outcome_of(gpt::config const& shape,
                           gpt::backward_form backward = gpt::backward_form::fused,
                           gpt::memory_form memory = gpt::memory_form::keep) {
  gpt::worker<Scalar> w(shape, 3);
  w.set_batch(batch_for(shape));
  gpt::sequential<Scalar>(w).step(backward, memory);
  return {{w.losses().begin(), w.losses().end()}, tensors(w, which::gradient)};
}

// Bytes of each device: its slots, and weights, gradients and two moments of its stages.
inline std::vector<std::size_t> bytes_of_devices(gpt::config const& shape, ashlar::program const& p) {
  gpt::worker<float> const w(shape, 1);
  std::vector<std::size_t> all;
  for (int d = 0; d < p.device_count(); ++d) {
    std::size_t bytes = 0;
    for (std::int64_t const slot :
         ashlar::slot_sizes(p.view(), d, [&](ashlar::value_key key) { return w.layout(key).bytes; }))
      bytes += static_cast<std::size_t>(slot);
    for (int g = 0; g < p.groups.count(); ++g)
      if (p.groups.member_of(g, d) >= 0) bytes += 4 * w.elements(g) * sizeof(float);
    all.push_back(bytes);
  }
  return all;
}

}  // namespace gpt_test
