// The model on a GPU beside the model on the host.
#pragma once

#include "gpt/sequential.hpp"
#include "gpt/support.hpp"
#include "gpt_arrays.hpp"
#include "gpt_one_stream.hpp"

#include <gpt/model_parameters.hpp>
#include <gpt/worker.hpp>
#include <gpt_cuda/mirror.hpp>
#include <gpt_cuda/worker.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace gpt_cuda_test {

// All results of a step of a fresh model, by name.
struct outcome {
  std::vector<double> losses;
  std::map<std::string, std::vector<float>> gradients;

  bool operator==(outcome const&) const = default;
};

// Moves weights away from the initial values, where biases are all zero and gains all one.
inline void move_weights(gpt::model_parameters<float>& host) {
  for (int group = 0; group < host.shape().groups(); ++group) {
    host.visit(group, [](auto const& what, auto const& weight, auto const&) {
      gpt::normal_numbers next(gpt::seed_of(what.name, 11));
      for (float& value : weight.flat()) value += static_cast<float>(0.05 * next());
    });
    for (int c = 1; c < host.copies(group); ++c)
      std::ranges::copy(host.weights(group), host.weights(group, c).begin());
  }
}

inline outcome outcome_on_host(gpt::config const& shape) {
  gpt::worker<float> w(shape, 3);
  move_weights(w);
  w.set_batch(gpt_test::batch_for(shape));
  gpt::sequential<float>(w).step();
  return {{w.losses().begin(), w.losses().end()}, gpt_test::tensors(w, gpt_test::which::gradient)};
}

template <class T>
outcome outcome_on_gpu(gpt::config const& shape, backward_form form = backward_form::fused,
                       memory_form memory = memory_form::keep) {
  gpt::worker<float> host(shape, 3);
  move_weights(host);
  gpt_cuda::worker<T> w(shape, 3, {}, gpt_cuda::gradients::kept);
  gpt_cuda::copy_from_host(host, w);
  w.set_batch(gpt_test::batch_for(shape));
  one_stream<T>(w).step(form, memory);
  gpt_cuda::copy_to_host(w, host);
  return {w.losses(), gpt_test::tensors(host, gpt_test::which::gradient)};
}

}  // namespace gpt_cuda_test
