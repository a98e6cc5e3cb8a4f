// What a schedule would take with the pass times that were measured.
#pragma once

#include <ashlar/program/program.hpp>
#include <ashlar/run/instruction_time.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tool {

// Collects the durations of passes over several steps. The median of a pass stands for it: threads that
// share a core are interrupted now and then, and a mean would count the interruptions.
class pass_timing {
 public:
  explicit pass_timing(int stages) : samples_(static_cast<std::size_t>(stages) * ashlar::pass_kinds) {}

  void add(ashlar::program_view const& program, std::vector<ashlar::instruction_time> const& times) {
    for (std::size_t i = 0; i < times.size(); ++i) {  // rank after rank
      ashlar::instruction const& self = program.instructions[i % program.instructions.size()];
      if (self.code == ashlar::opcode::compute)
        of(self.what.kind, self.what.stage).push_back(times[i].end - times[i].begin);
    }
  }

  // Was any pass measured?
  bool any() const {
    return std::any_of(samples_.begin(), samples_.end(), [](auto const& one) { return !one.empty(); });
  }

  // In nanoseconds. A fused backward is given half to each part: only the sum counts.
  ashlar::costs costs() {
    std::vector<ashlar::stage_cost> all(samples_.size() / ashlar::pass_kinds);
    for (std::size_t stage = 0; stage < all.size(); ++stage) {
      auto const time = [&](ashlar::pass_kind kind) {
        return median(of(kind, static_cast<int>(stage)));
      };
      ashlar::tick const fused = time(ashlar::pass_kind::backward);
      all[stage] = {.forward = std::max<ashlar::tick>(1, time(ashlar::pass_kind::forward)),
                    .backward_input =
                        std::max<ashlar::tick>(1, fused / 2 + time(ashlar::pass_kind::backward_input)),
                    .backward_weight = std::max<ashlar::tick>(
                        1, fused - fused / 2 + time(ashlar::pass_kind::backward_weight)),
                    .recompute = std::max<ashlar::tick>(1, time(ashlar::pass_kind::recompute))};
    }
    return all;
  }

 private:
  std::vector<ashlar::tick>& of(ashlar::pass_kind kind, int stage) {
    return samples_[static_cast<std::size_t>(stage) * ashlar::pass_kinds
                    + static_cast<std::size_t>(kind)];
  }
  static ashlar::tick median(std::vector<ashlar::tick>& values) {
    if (values.empty()) return 0;
    auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

  std::vector<std::vector<ashlar::tick>> samples_;  // by stage and kind
};

}  // namespace tool
