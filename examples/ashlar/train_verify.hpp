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

// What a step leaves with a worker.
template <class Scalar>
struct step_result {
  explicit step_result(gpt::worker<Scalar> const& w) : losses(w.losses().begin(), w.losses().end()) {
    for (int group = 0; group < w.shape().groups(); ++group)
      gradients.emplace_back(w.gradient(group).begin(), w.gradient(group).end());
  }

  std::vector<double> losses;
  std::vector<std::vector<Scalar>> gradients;  // by group
};

template <class Scalar>
std::string difference(step_result<Scalar> const& mine, step_result<Scalar> const& other, int stages) {
  for (std::size_t k = 0; k < mine.losses.size(); ++k)
    if (std::memcmp(&mine.losses[k], &other.losses[k], sizeof(double)) != 0)
      return fmt::format(
          "the loss of micro-batch {} is {:.17g} in the pipeline and {:.17g} sequentially", k,
          mine.losses[k], other.losses[k]);
  for (std::size_t g = 0; g < mine.gradients.size(); ++g)
    for (std::size_t i = 0; i < mine.gradients[g].size(); ++i) {
      Scalar const a = mine.gradients[g][i], b = other.gradients[g][i];
      if (std::memcmp(&a, &b, sizeof(Scalar)) != 0)
        return fmt::format(
            "gradient {} of {} is {:.17g} in the pipeline and {:.17g} sequentially", i,
            g < static_cast<std::size_t>(stages) ? fmt::format("stage {}", g) : "the tied embedding",
            static_cast<double>(a), static_cast<double>(b));
    }
  return {};
}

// After a step of the pipeline: runs it again sequentially, on the same workers, one of each
// data-parallel rank. Returns what differs first, or nothing.
template <class Scalar>
std::string difference_to_sequential(ashlar::program const& program,
                                     std::vector<gpt::worker<Scalar>*> const& ranks) {
  std::vector<step_result<Scalar>> found;
  for (auto const* w : ranks) {
    if (!w->copies_agree()) return "the copies of the tied embedding differ";
    found.emplace_back(*w);
  }
  ashlar::sequential<gpt::worker<Scalar>>(program, ranks).run();
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::string const what =
        difference(found[rank], step_result<Scalar>(*ranks[rank]), program.stage_count());
    if (!what.empty()) return ranks.size() > 1 ? fmt::format("rank {}: {}", rank, what) : what;
  }
  return {};
}

}  // namespace tool
