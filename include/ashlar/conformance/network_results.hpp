// What a step of a network leaves behind.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/model/work.hpp>
#include <ashlar/run/frame.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <mutex>
#include <numeric>
#include <span>
#include <type_traits>
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
  outcome take() {
    outcome result{gradients_, shared_gradients_, {}, work_results_};
    result.losses.assign(micro_batches_, 0.0);
    for (std::size_t i = 0; i < losses_.size(); ++i) result.losses[i % micro_batches_] += losses_[i];
    work_results_.assign(work_results_.size(), nothing());
    for (auto& g : gradients_) g.fill(0);
    for (auto& g : shared_gradients_) g.fill(0);
    for (auto& l : losses_) l = 0;
    for (auto& n : reductions_) n.fill(0);
    return result;
  }
  // How often it has been told of a group's gradient, by all of its holders.
  int reductions(int group) const {
    auto const& by_replica = nth(reductions_, group);
    return std::accumulate(by_replica.begin(), by_replica.end(), 0);
  }

  // For workers of several processes: what this one knows of the step, and -infinity for the rest. The
  // larger of each number over all processes is what all of them together know: adopt() it.
  std::vector<double> results() const {
    std::vector<double> all;
    for (std::size_t s = 0; s < gradients_.size(); ++s) {
      bool const known = reductions(static_cast<int>(s)) > 0;
      for (int n : reductions_[s]) all.push_back(n > 0 ? n : unknown);
      for (double g : gradients_[s]) all.push_back(known ? g : unknown);
    }
    for (std::size_t g = 0; g < shared_gradients_.size(); ++g) {
      auto const group = static_cast<int>(gradients_.size() + g);
      for (int n : nth(reductions_, group)) all.push_back(n > 0 ? n : unknown);
      for (double d : shared_gradients_[g]) all.push_back(reductions(group) > 0 ? d : unknown);
    }
    for (double loss : losses_) all.push_back(loss != 0 ? loss : unknown);
    for (vector const& part : work_results_) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  void adopt(std::span<double const> all) {
    auto next = all.begin();
    auto const take_known = [&](auto& value) {
      if (*next != unknown) value = static_cast<std::remove_reference_t<decltype(value)>>(*next);
      ++next;
    };
    for (std::size_t s = 0; s < gradients_.size(); ++s) {
      for (int& n : reductions_[s]) take_known(n);
      for (double& g : gradients_[s]) take_known(g);
    }
    for (std::size_t g = 0; g < shared_gradients_.size(); ++g) {
      for (int& n : reductions_[gradients_.size() + g]) take_known(n);
      for (double& d : shared_gradients_[g]) take_known(d);
    }
    for (double& loss : losses_) take_known(loss);
    for (vector& part : work_results_)
      for (double& d : part) take_known(d);
  }

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
  void note_gradient(parameter_frame const& f) {
    std::lock_guard const lock(mutex_);
    if (static_cast<std::size_t>(f.group) >= gradients_.size())
      shared_gradients_[static_cast<std::size_t>(f.group) - gradients_.size()] = as<vector>(f.gradient);
    else if (f.gradient.size() == sizeof(matrix))  // else a shard
      nth(gradients_, f.group) = as<matrix>(f.gradient);
    ++nth(reductions_, f.group).at(static_cast<std::size_t>(f.site.replica));
  }

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
