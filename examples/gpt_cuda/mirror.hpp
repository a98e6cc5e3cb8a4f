// Copies parameters between GPUs and the model on the host, which does checkpoints and comparisons.
#pragma once

#include "worker.hpp"
#include <ashlar/run/contract.hpp>

#include <gpt/model_parameters.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace gpt_cuda {

// Copies the gradient of each group that is here, if it is kept, to all of its copies on the host.
template <class T>
void copy_gradients_to_host(worker<T> const& from, gpt::model_parameters<float>& to) {
  for (int g = 0; g < from.shape().groups(); ++g) {
    int const copy = from.copy_here(g);
    if (copy < 0 || !to.holds(g)) continue;
    std::vector<float> gradient = from.gradient(g, copy);
    if (gradient.empty()) continue;
    for (int c = 0; c < to.copies(g); ++c) {
      auto const mine = to.part(g, std::span(gradient));
      ashlar::parameter_frame const f{
          .group = g, .gradient = std::as_writable_bytes(mine), .site = {.replica = c}};
      int queue = 0;
      to.reduced(queue, f);
    }
  }
}

// Also copies weights, moments and the number of steps.
template <class T>
void copy_to_host(worker<T> const& from, gpt::model_parameters<float>& to) {
  copy_gradients_to_host(from, to);
  for (int g = 0; g < from.shape().groups(); ++g) {
    int const copy = from.copy_here(g);
    if (copy < 0 || !to.holds(g)) continue;
    for (int c = 0; c < to.copies(g); ++c) {
      std::ranges::copy(from.weights(g, copy), to.weights(g, c).begin());
      std::ranges::copy(from.first_moment(g, copy), to.first_moment(g, c).begin());
      std::ranges::copy(from.second_moment(g, copy), to.second_moment(g, c).begin());
    }
    to.set_updates(g, from.updates());
  }
}

// Copies weights, moments and the number of steps back, to all copies on the GPUs.
template <class T>
void copy_from_host(gpt::model_parameters<float>& from, worker<T>& to) {
  for (int g = 0; g < from.shape().groups(); ++g) {
    if (to.copy_here(g) < 0 || !from.holds(g)) continue;
    to.set_weights(g, from.weights(g));
    to.set_moments(g, from.first_moment(g), from.second_moment(g));
    to.set_updates(from.updates(g));
  }
}

}  // namespace gpt_cuda
