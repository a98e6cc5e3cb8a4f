// Measures what a training's passes, transfers and sums take on its backend.
#pragma once

#include "command.hpp"
#include "files/files.hpp"
#include "train/profile_report.hpp"
#include "train/train_numbers.hpp"
#include "train/train_team.hpp"
#include "train/train_timing.hpp"
#include "train/training.hpp"
#include <ashlar/run/measure_transfers.hpp>
#include <ashlar/run/measured_costs.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tool {

template <class Scalar>
class profile_session {
 public:
  profile_session(training& t, team<Scalar>& all) : t_(t), all_(all) {}

  // All processes return the same exit_code.
  int run() {
    auto const about = about_of(t_, all_.computing(), all_.processes());
    ashlar::measured_costs m;
    if (all_.leads()) report_begin(t_, all_.workers().front()->parameters());
    int const repeats = std::min(5 * t_.options->repeats, most_messages);
    auto const link = [&](link_class which) {
      return ashlar::measure::link_of([&](probe what) { return all_.time_transfers(which, what); },
                                      repeats);
    };
    m.inside = link(link_class::inside);
    m.between = link(link_class::between);
    m.ring = ashlar::measure::ring_of([&](probe what) { return all_.time_sums(what); }, repeats,
                                      t_.devices());
    if (all_.leads()) report_links(m, t_);
    ashlar::pass_times const own = passes();
    bool const split = split_backwards();
    ashlar::pass_times const parts = split ? passes() : own;
    for (int stage = 0; stage < t_.shape.stages; ++stage)
      m.stages.push_back(stage_times(own, parts, stage));
    m.message = static_cast<ashlar::byte_count>(all_.layout({ashlar::slot_kind::activation, 0}).bytes);
    m.node_size = all_.node_size();
    if (all_.leads()) report_end(m, about, t_, all_.computing());
    return done;
  }

 private:
  static constexpr int warm_up_steps = 2;
  static constexpr int most_messages = 500;

  // Measures several steps of the program, the first ones not counted.
  ashlar::pass_times passes() {
    ashlar::pass_timing timing(t_.shape.stages);
    for (int i = 0; i < warm_up_steps + t_.options->repeats; ++i) {
      for (int rank = 0; rank < t_.shape.data_ranks; ++rank)
        if (all_.of(rank) != nullptr) all_.set_batch(rank, batch_at(t_, t_.text.training(), batches_));
      ++batches_;
      all_.run({});
      if (i >= warm_up_steps) add_step(timing, all_, t_.program.view());
    }
    return times_of_all(timing, all_);
  }

  // Splits fused backwards of the program into two passes; false: there are none.
  bool split_backwards() {
    bool fused = false;
    for (auto& order : t_.schedule.order) {
      order = ashlar::without_pairs(order);
      for (ashlar::time_slot const& t : order)
        fused = fused || t.what.kind == ashlar::pass_kind::backward;
    }
    if (!fused) return false;
    t_.schedule = squeeze(split_backward(std::move(t_.schedule)));
    t_.program = program_of(*t_.options, t_.schedule, t_.shape);
    all_.adopt();
    return true;
  }

  training& t_;
  team<Scalar>& all_;
  std::uint64_t batches_ = 0;
};

}  // namespace tool
