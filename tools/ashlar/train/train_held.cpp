#include "train/train_held.hpp"

#include <ashlar/simulate/simulate.hpp>

#include <algorithm>
#include <cstddef>

namespace tool {

namespace {

// Sizes of values, by stage and micro-batch.
ashlar::memory_model sizes_of_values(training const& t, ashlar::layout_function layout) {
  using kind = ashlar::slot_kind;
  std::vector<bool> runs_again(static_cast<std::size_t>(t.shape.stages), false);
  for (ashlar::instruction const& i : t.program.instructions)
    if (i.code == ashlar::opcode::compute && i.what.kind == ashlar::pass_kind::recompute)
      runs_again[static_cast<std::size_t>(i.what.stage)] = true;
  ashlar::memory_model all{.stages = {}, .micro_batches = t.shape.micro_batches};
  for (int stage = 0; stage < t.shape.stages; ++stage)
    for (int k = 0; k < t.shape.micro_batches; ++k) {
      auto const bytes = [&](kind of, int at) {
        return static_cast<ashlar::byte_count>(layout({of, at, k}).bytes);
      };
      auto& own = all.stages.emplace_back();
      own.activation = bytes(kind::activation, stage);
      if (auto const after = t.schedule.graph.successors(stage); !after.empty())
        own.gradient = bytes(kind::gradient, after[0]);
      own.weight_stash = bytes(kind::weight_stash, stage);
      own.sequence_state = bytes(kind::sequence_state, stage);
      own.sequence_gradient = bytes(kind::sequence_gradient, stage);
      own.stash = bytes(kind::stash, stage);
      if (!runs_again[static_cast<std::size_t>(stage)]) continue;
      own.checkpoint = bytes(kind::checkpoint, stage);
      own.stash = std::max(own.stash, own.checkpoint);
    }
  return all;
}

}  // namespace

held_peaks peaks_of(training const& t, ashlar::layout_function layout,
                    std::vector<ashlar::instruction_time> const& times) {
  ashlar::simulation_options const machine{.memory = sizes_of_values(t, layout)};
  std::size_t const count = t.program.instructions.size();
  held_peaks peaks{.are_measured = !times.empty()};
  ashlar::timeline simulated = time_program(t.program, machine);
  for (int rank = 0; rank < t.program.data_ranks; ++rank) {
    ashlar::timeline line = simulated;
    if (peaks.are_measured) {
      line = {};
      for (std::size_t i = 0; i < count; ++i) {
        ashlar::instruction_time const& own = times[static_cast<std::size_t>(rank) * count + i];
        line.timed.push_back({.start = own.begin, .end = own.end});
        line.makespan = std::max(line.makespan, own.end);
      }
    }
    for (ashlar::device_memory const& d : memory_over_time(t.program, line, machine)) {
      peaks.measured.on_devices += d.peak - d.resident;
      peaks.measured.on_hosts += d.host_peak;
      peaks.proved.on_devices += d.reserved - d.resident;
      peaks.proved.on_hosts += d.host_reserved;
    }
  }
  return peaks;
}

}  // namespace tool
