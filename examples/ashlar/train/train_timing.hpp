// What passes take on the devices that run them.
#pragma once

#include "train/train_team.hpp"
#include "train/value_sample.hpp"
#include <ashlar/core/cost.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/run/instruction_time.hpp>
#include <ashlar/run/measured_time.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace tool {

// Durations of passes, in nanoseconds, by stage and kind.
class pass_times {
 public:
  explicit pass_times(std::vector<std::vector<double>> samples) : samples_(std::move(samples)) {}

  static std::size_t index_of(ashlar::pass_kind kind, int stage) {
    return static_cast<std::size_t>(stage) * ashlar::pass_kinds + static_cast<std::size_t>(kind);
  }

  // Was any pass measured?
  bool any() const {
    return std::any_of(samples_.begin(), samples_.end(), [](auto const& one) { return !one.empty(); });
  }
  ashlar::measured_time of(ashlar::pass_kind kind, int stage) const {
    return ashlar::measured_time_of(samples_[index_of(kind, stage)]);
  }

  // In ticks that are so long. A fused backward is given half to each part: only the sum counts.
  std::vector<ashlar::stage_cost> costs(double tick_ns) const {
    std::vector<ashlar::stage_cost> all(samples_.size() / ashlar::pass_kinds);
    for (std::size_t stage = 0; stage < all.size(); ++stage) {
      auto const time = [&](ashlar::pass_kind kind) { return of(kind, static_cast<int>(stage)).median; };
      auto const ticks = [&](double ns) {
        return std::max<ashlar::tick>(1, std::llround(ns / tick_ns));
      };
      double const fused = time(ashlar::pass_kind::backward);
      all[stage] = {.forward = ticks(time(ashlar::pass_kind::forward)),
                    .backward_input = ticks(fused / 2 + time(ashlar::pass_kind::backward_input)),
                    .backward_weight = ticks(fused / 2 + time(ashlar::pass_kind::backward_weight)),
                    .recompute = ticks(time(ashlar::pass_kind::recompute))};
    }
    return all;
  }

 private:
  std::vector<std::vector<double>> samples_;
};

// Collects what passes take over any number of steps. Each process keeps those of its own devices.
class pass_timing {
 public:
  explicit pass_timing(int stages) : samples_(static_cast<std::size_t>(stages) * ashlar::pass_kinds) {}

  // A step of `program`: times of its instructions, rank after rank; of devices that `is_here` is true
  // for.
  template <class IsHere>
  void add(ashlar::program_view const& program, std::vector<ashlar::instruction_time> const& times,
           IsHere is_here) {
    if (times.empty()) return;
    std::size_t at = 0;
    for (int rank = 0; rank < program.data_ranks; ++rank)
      for (int device = 0; device < program.device_count; ++device) {
        bool const here = is_here(rank, device);
        for (ashlar::instruction const& self : program.stream(device)) {
          ashlar::instruction_time const& t = times[at++];
          if (here && self.code == ashlar::opcode::compute && self.what.kind != ashlar::pass_kind::work)
            samples_[pass_times::index_of(self.what.kind, self.what.stage)].add(
                static_cast<double>(t.end - t.begin), random_);
        }
      }
  }
  // The step that `all` has just run.
  template <class Scalar>
  void add(team<Scalar> const& all, ashlar::program_view const& program) {
    add(program, all.times(), [&](int rank, int device) { return all.is_here(rank, device); });
  }

  // What this process has.
  pass_times here() const {
    std::vector<std::vector<double>> samples;
    for (value_sample const& one : samples_) samples.push_back(one.kept());
    return pass_times(std::move(samples));
  }
  // What all processes have together; all of them call it.
  template <class Scalar>
  pass_times of_all(team<Scalar>& all) const {
    auto const processes = static_cast<std::size_t>(all.processes());
    auto const self = static_cast<std::size_t>(all.process());
    std::vector<std::uint64_t> counts(processes * samples_.size(), 0);
    for (std::size_t i = 0; i < samples_.size(); ++i)
      counts[i * processes + self] = samples_[i].kept().size();
    all.unite(counts);
    std::vector<std::vector<double>> together(samples_.size());
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      std::size_t before = 0, total = 0;
      for (std::size_t process = 0; process < processes; ++process) {
        if (process == self) before = total;
        total += static_cast<std::size_t>(counts[i * processes + process]);
      }
      together[i].resize(total, 0.0);
      std::copy(samples_[i].kept().begin(), samples_[i].kept().end(),
                together[i].begin() + static_cast<std::ptrdiff_t>(before));
      if (total > 0) all.unite(together[i]);
    }
    return pass_times(std::move(together));
  }

 private:
  std::vector<value_sample> samples_;  // as of pass_times
  std::mt19937_64 random_{1};
};

}  // namespace tool
