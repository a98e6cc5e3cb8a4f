// What passes take on the devices that run them.
#pragma once

#include "spread.hpp"
#include <ashlar/core/cost.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/run/instruction_time.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tool {

// Collects the durations of passes over several steps, by stage and kind.
class pass_timing {
 public:
  explicit pass_timing(int stages) : samples_(static_cast<std::size_t>(stages) * ashlar::pass_kinds) {}

  void add(ashlar::program_view const& program, std::vector<ashlar::instruction_time> const& times) {
    for (std::size_t i = 0; i < times.size(); ++i) {  // rank after rank
      ashlar::instruction const& self = program.instructions[i % program.instructions.size()];
      if (self.code == ashlar::opcode::compute && self.what.kind != ashlar::pass_kind::work)
        samples_[index_of(self.what.kind, self.what.stage)].push_back(
            static_cast<double>(times[i].end - times[i].begin));
    }
  }

  // Was any pass measured?
  bool any() const {
    return std::any_of(samples_.begin(), samples_.end(), [](auto const& one) { return !one.empty(); });
  }
  spread of(ashlar::pass_kind kind, int stage) const {
    return spread_of(samples_[index_of(kind, stage)]);
  }

  // In nanoseconds. A fused backward is given half to each part: only the sum counts.
  ashlar::costs costs() const {
    std::vector<ashlar::stage_cost> all(samples_.size() / ashlar::pass_kinds);
    for (std::size_t stage = 0; stage < all.size(); ++stage) {
      auto const time = [&](ashlar::pass_kind kind) { return of(kind, static_cast<int>(stage)).median; };
      auto const ticks = [](double ns) { return std::max<ashlar::tick>(1, std::llround(ns)); };
      double const fused = time(ashlar::pass_kind::backward);
      all[stage] = {.forward = ticks(time(ashlar::pass_kind::forward)),
                    .backward_input = ticks(fused / 2 + time(ashlar::pass_kind::backward_input)),
                    .backward_weight = ticks(fused / 2 + time(ashlar::pass_kind::backward_weight)),
                    .recompute = ticks(time(ashlar::pass_kind::recompute))};
    }
    return all;
  }

 private:
  static std::size_t index_of(ashlar::pass_kind kind, int stage) {
    return static_cast<std::size_t>(stage) * ashlar::pass_kinds + static_cast<std::size_t>(kind);
  }

  std::vector<std::vector<double>> samples_;  // by stage and kind
};

}  // namespace tool
