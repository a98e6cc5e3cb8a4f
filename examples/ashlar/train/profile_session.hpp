// Measures what a training's passes, transfers and sums take on its backend.
#pragma once

#include "command.hpp"
#include "files/files.hpp"
#include "train/profile_report.hpp"
#include "train/train_numbers.hpp"
#include "train/train_team.hpp"
#include "train/train_timing.hpp"
#include "train/training.hpp"
#include <ashlar/run/measured_costs.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tool {

template <class Scalar>
class profile_session {
 public:
  profile_session(training& t, team<Scalar>& all) : t_(t), all_(all) {}

  // All processes return the same exit_code.
  int run() {
    auto const about = about_of(t_, all_.computing(), all_.processes());
    ashlar::measured_costs m;
    if (all_.leads()) tell_begin(t_, all_.workers().front()->parameters());
    m.inside = link([&](probe what) { return all_.time_transfers(link_class::inside, what); }, 1, 1);
    m.between = link([&](probe what) { return all_.time_transfers(link_class::between, what); }, 1, 1);
    double const ranks = t_.devices();
    m.ring =
        link([&](probe what) { return all_.time_sums(what); }, 2 * (ranks - 1), 2 * (ranks - 1) / ranks);
    if (all_.leads()) tell_links(m, t_);
    pass_times const own = passes();
    bool const split = split_backwards();
    pass_times const parts = split ? passes() : own;
    for (int stage = 0; stage < t_.shape.stages; ++stage)
      m.stages.push_back(stage_of(own, parts, stage));
    m.message = static_cast<ashlar::byte_count>(all_.layout({ashlar::slot_kind::activation, 0}).bytes);
    m.node_size = all_.node_size();
    if (all_.leads()) tell_end(m, about, t_, all_.computing());
    return done;
  }

 private:
  static constexpr int warm_up_steps = 2;
  static constexpr int most_messages = 500;
  static constexpr std::size_t small = 64, large = std::size_t{1} << 20;  // bytes of a message

  // Of several steps of the program, the first ones not counted.
  pass_times passes() {
    pass_timing timing(t_.shape.stages);
    for (int i = 0; i < warm_up_steps + t_.options->repeats; ++i) {
      for (int rank = 0; rank < t_.shape.data_ranks; ++rank)
        if (all_.of(rank) != nullptr) all_.set_batch(rank, batch_at(t_, t_.text.training(), batches_));
      ++batches_;
      all_.run({});
      if (i >= warm_up_steps) timing.add(all_, t_.program.view());
    }
    return timing.of_all(all_);
  }

  // Fused backwards of the program become two passes; false: there are none.
  bool split_backwards() {
    bool fused = false;
    for (auto& order : t_.schedule.order)
      for (ashlar::timed_pass& p : order) {
        fused = fused || p.what.kind == ashlar::pass_kind::backward;
        p.overlaps = ashlar::timed_pass{}.overlaps;
      }
    if (!fused) return false;
    t_.schedule = squeeze(split_backward(std::move(t_.schedule)));
    t_.program = program_of(*t_.options, t_.schedule);
    all_.adopt();
    return true;
  }

  // A fused backward takes what it takes; how it is shared the parts say.
  static std::array<ashlar::measured_time, 4> stage_of(pass_times const& own, pass_times const& parts,
                                                       int stage) {
    using enum ashlar::pass_kind;
    ashlar::measured_time const fused = own.of(backward, stage), input = parts.of(backward_input, stage),
                                weight = parts.of(backward_weight, stage);
    double const factor = fused.samples > 0 ? fused.median / (input.median + weight.median) : 1;
    return {own.of(forward, stage), input.scaled(factor), weight.scaled(factor),
            own.of(recompute, stage)};
  }

  // A message takes the latency `steps` times, and its bytes `passes` times; from a short one and a long
  // one.
  template <class Measure>
  std::optional<ashlar::measured_link> link(Measure measure, double steps, double passes) {
    int const repeats = std::min(5 * t_.options->repeats, most_messages);
    std::vector<double> const few = measure(probe{small, repeats}),
                              many = measure(probe{large, repeats});
    if (few.empty()) return std::nullopt;
    ashlar::measured_time const latency = ashlar::measured_time_of(few);
    double const longer = ashlar::measured_time_of(many).median - latency.median;
    return ashlar::measured_link{
        .latency = latency.scaled(1 / steps),
        .bytes_per_second =
            longer > 0 ? 1e9 * static_cast<double>(large - small) * passes / longer : 0.0};
  }

  training& t_;
  team<Scalar>& all_;
  std::uint64_t batches_ = 0;
};

}  // namespace tool
