// The pipeline's step against the same step on one device, bit by bit.
#pragma once

#include <ashlar/run/sequential.hpp>

#include <fmt/core.h>
#include <gpt/worker.hpp>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace tool {

// After a step of the pipeline: runs it again sequentially, on the same worker. Returns what differs
// first, or nothing.
template <class Scalar>
std::string difference_to_sequential(ashlar::program const& program, gpt::worker<Scalar>& worker) {
  std::vector<double> const losses(worker.losses().begin(), worker.losses().end());
  std::vector<std::vector<Scalar>> gradients;
  for (int stage = 0; stage < worker.shape().stages; ++stage)
    gradients.emplace_back(worker.gradient(stage).begin(), worker.gradient(stage).end());

  ashlar::sequential<gpt::worker<Scalar>>(program, worker).run();

  for (std::size_t k = 0; k < losses.size(); ++k)
    if (std::memcmp(&losses[k], &worker.losses()[k], sizeof(double)) != 0)
      return fmt::format(
          "the loss of micro-batch {} is {:.17g} in the pipeline and {:.17g} sequentially", k, losses[k],
          worker.losses()[k]);
  for (int stage = 0; stage < worker.shape().stages; ++stage) {
    auto const& mine = gradients[static_cast<std::size_t>(stage)];
    auto const other = worker.gradient(stage);
    for (std::size_t i = 0; i < mine.size(); ++i)
      if (std::memcmp(&mine[i], &other[i], sizeof(Scalar)) != 0)
        return fmt::format("gradient {} of stage {} is {:.17g} in the pipeline and {:.17g} sequentially",
                           i, stage, static_cast<double>(mine[i]), static_cast<double>(other[i]));
  }
  return {};
}

}  // namespace tool
