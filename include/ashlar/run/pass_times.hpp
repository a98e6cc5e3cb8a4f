// Measured times of passes on the devices that run them.
#pragma once

#include <ashlar/core/cost.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/run/instruction_time.hpp>
#include <ashlar/run/measured_time.hpp>
#include <ashlar/run/value_sample.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

namespace ashlar {

// Durations of passes, in nanoseconds, by stage and kind.
class pass_times {
 public:
  // `samples` has all measured times of a kind and stage at index_of().
  explicit pass_times(std::vector<std::vector<double>> samples) : samples_(std::move(samples)) {}

  // Index of the samples of a kind of pass of a stage.
  static std::size_t index_of(pass_kind kind, int stage) {
    return static_cast<std::size_t>(stage) * pass_kinds + static_cast<std::size_t>(kind);
  }

  // Whether any pass was measured.
  bool any() const {
    return std::any_of(samples_.begin(), samples_.end(), [](auto const& one) { return !one.empty(); });
  }
  measured_time of(pass_kind kind, int stage) const {
    return measured_time_of(samples_[index_of(kind, stage)]);
  }

  // Costs in ticks of this length. A fused backward gives half to each part: only the sum counts.
  std::vector<stage_cost> costs(double tick_ns) const {
    std::vector<stage_cost> all(samples_.size() / pass_kinds);
    for (std::size_t stage = 0; stage < all.size(); ++stage) {
      auto const time = [&](pass_kind kind) { return of(kind, static_cast<int>(stage)).median; };
      auto const ticks = [&](double ns) { return std::max<tick>(1, std::llround(ns / tick_ns)); };
      double const fused = time(pass_kind::backward);
      all[stage] = {.forward = ticks(time(pass_kind::forward)),
                    .backward_input = ticks(fused / 2 + time(pass_kind::backward_input)),
                    .backward_weight = ticks(fused / 2 + time(pass_kind::backward_weight)),
                    .recompute = ticks(time(pass_kind::recompute))};
    }
    return all;
  }

 private:
  std::vector<std::vector<double>> samples_;
};

// A stage's forward, input, weight and recompute passes, as in measured_costs. A fused backward keeps
// its time; `parts`, from steps with split backwards, give its division.
inline std::array<measured_time, 4> stage_times(pass_times const& own, pass_times const& parts,
                                                int stage) {
  using enum pass_kind;
  measured_time const fused = own.of(backward, stage), input = parts.of(backward_input, stage),
                      weight = parts.of(backward_weight, stage);
  double const factor = fused.samples > 0 ? fused.median / (input.median + weight.median) : 1;
  return {own.of(forward, stage), input.scaled(factor), weight.scaled(factor), own.of(recompute, stage)};
}

// Collects the times of passes over any number of steps.
class pass_timing {
 public:
  // Begins without samples, for this many stages.
  explicit pass_timing(int stage_count) : samples_(static_cast<std::size_t>(stage_count) * pass_kinds) {}

  // Adds a step of `program`. `times` are those of its instructions, rank after rank, on devices with
  // is_here(rank, device). Nothing was measured if they are empty.
  template <class IsHere>
  void add(program_view const& program, std::vector<instruction_time> const& times, IsHere is_here) {
    if (times.empty()) return;
    std::size_t at = 0;
    for (int rank = 0; rank < program.data_ranks; ++rank)
      for (int device = 0; device < program.device_count; ++device) {
        bool const here = is_here(rank, device);
        for (instruction const& self : program.stream(device)) {
          instruction_time const& t = times[at++];
          if (here && self.code == opcode::compute && !is_part(self.what))
            samples_[pass_times::index_of(self.what.kind, self.what.stage)].add(
                static_cast<double>(t.end - t.begin), random_);
        }
      }
  }

  // Samples at pass_times::index_of().
  std::vector<value_sample> const& samples() const { return samples_; }
  pass_times times() const {
    std::vector<std::vector<double>> all;
    for (value_sample const& one : samples_) all.push_back(one.kept());
    return pass_times(std::move(all));
  }

 private:
  std::vector<value_sample> samples_;
  std::mt19937_64 random_{1};
};

}  // namespace ashlar
