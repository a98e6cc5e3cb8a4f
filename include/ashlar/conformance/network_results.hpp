// The results of a step of a network.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/run/frame.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <mutex>
#include <numeric>
#include <span>
#include <vector>

namespace ashlar::conformance {

// Gradients, losses, and the results of work. The workers of several processes know parts of it, which
// they put together by results() and adopt().
class network_results {
 public:
  static constexpr std::size_t width = 3;
  using vector = std::array<double, width>;
  using matrix = std::array<double, width * width>;

  // Equality is bit by bit.
  struct outcome {
    std::vector<matrix> gradients;
    std::vector<vector> shared_gradients;
    std::vector<double> losses;  // by micro-batch, of all last stages in order
    std::vector<vector> work;    // what each part made, job by job
    friend bool operator==(outcome const&, outcome const&) = default;
  };
  outcome take();
  // How often `reduced` was called for a group, on all of its holders.
  int reductions(int group) const {
    auto const& by_replica = nth(reductions_, group);
    return std::accumulate(by_replica.begin(), by_replica.end(), 0);
  }

  // The numbers of the step that this process knows, -infinity for the rest, for workers of several
  // processes. The larger of each number over all processes is what all of them together know: adopt()
  // it.
  std::vector<double> results() const;
  void adopt(std::span<double const> all);

 protected:
  static constexpr double unknown = -std::numeric_limits<double>::infinity();

  network_results(std::size_t stages, std::size_t shared, int micro_batches)
      : gradients_(stages),
        shared_gradients_(shared),
        reductions_(stages + shared),
        micro_batches_(static_cast<std::size_t>(micro_batches)),
        losses_(stages * micro_batches_, 0.0) {}

  template <class T>
  static T& as(buffer b) {
    return *reinterpret_cast<T*>(b.data());
  }

  void expect_parts(std::size_t count) { work_results_.assign(count, nothing()); }
  void note_loss(pass what, double loss) {
    losses_[static_cast<std::size_t>(what.stage) * micro_batches_
            + static_cast<std::size_t>(what.micro_batch)] = loss;
  }
  void note_work(int part, vector const& made) { nth(work_results_, part) = made; }
  void note_gradient(parameter_frame const& f);

 private:
  static vector nothing() { return {unknown, unknown, unknown}; }

  std::vector<matrix> gradients_;
  std::vector<vector> shared_gradients_;
  std::vector<std::array<int, 8>> reductions_;  // by group and holder
  std::size_t micro_batches_;
  std::vector<double> losses_;        // by stage and micro-batch
  std::vector<vector> work_results_;  // by number of the part
  std::mutex mutex_;
};

}  // namespace ashlar::conformance

#ifndef ASHLAR_COMPILED
#include <ashlar/conformance/network_results.ipp>
#endif
