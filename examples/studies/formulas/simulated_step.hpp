// The time of a step by simulation of the lowered program.
#pragma once

#include "quantities.hpp"
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/simulate/options.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace formulas {

using namespace ashlar;

// Seconds of the passes of one micro-batch.
struct pass_seconds {
  double forward = 0;
  double backward = 0;  // with recomputation

  double both() const { return forward + backward; }
  // Adds the seconds of further layers.
  pass_seconds& operator+=(pass_seconds const& other) {
    forward += other.forward;
    backward += other.backward;
    return *this;
  }
};

// Scales by a count of layers or micro-batches.
inline pass_seconds operator*(double count, pass_seconds const& each) {
  return {count * each.forward, count * each.backward};
}

// Seconds of one stage, or of one of its chunks of a sequence.
struct stage_seconds {
  pass_seconds passes = {};     // of a micro-batch
  double send = 0;              // of its output to the next stage, or of the gradient back
  double reduction = 0;         // of its gradient over the data ranks, after all passes
  double gather = 0;            // of its weights for each forward and backward, if they are sharded
  double scatter = 0;           // of its gradient after each backward, likewise
  pass_seconds attention = {};  // the passes' share of causal attention
  double weight = half;         // the backward's share of a split weight pass

  static constexpr double half = -1;
};

// Whether passes run beside messages.
enum class message_mode : unsigned char {
  beside,    // transfers run beside passes
  blocking,  // a device computes nothing while it sends forward or back
};

// The machine on which a tick is a nanosecond and a message has a byte per tick. If the chunks of
// sequences are distinguished, there is an entry for each stage and chunk, as in `costs`; those of a
// stage have equal messages.
inline simulation_options step_machine(std::vector<stage_seconds> const& per_stage,
                                       message_mode messages, int sequence_chunks = 1) {
  simulation_options options;
  auto const q = static_cast<std::size_t>(sequence_chunks);
  options.memory.stages.resize(per_stage.size() / q);
  std::vector<stage_cost> each;
  for (std::size_t i = 0; i < per_stage.size(); ++i) {
    stage_seconds const& s = per_stage[i];
    bool const blocks = messages == message_mode::blocking;
    double const back = blocks && i >= q ? per_stage[i - q].send : 0;
    tick const backward = max_of(tick{2}, nanoseconds(s.passes.backward + back)),
               weight = s.weight == stage_seconds::half ? backward - backward / 2
                                                        : min_of(nanoseconds(s.weight), backward - 1);
    each.push_back({.forward = nanoseconds(s.passes.forward + (blocks ? s.send : 0)),
                    .backward_input = backward - weight,
                    .backward_weight = weight});
    byte_count const message = blocks ? 0 : whole_bytes(s.send * 1e9 + 0.5);
    stage_memory& held = options.memory.stages[i / q];
    held.activation = held.gradient = message;
  }
  options.cost.passes = pass_costs::by_stage_and_sequence_chunk(std::move(each), sequence_chunks);
  options.cost.on.links.inside = {.latency = 0, .bandwidth = 1};  // a tick a byte
  return options;
}

// Seconds of a step of these passes in their order, with the times of each stage, or of each of its
// chunks. Throws violation as nanoseconds, retime and lower do. Linear in the passes.
inline double simulated_step(schedule const& alike, std::vector<stage_seconds> const& per_stage,
                             message_mode messages) {
  int const q = static_cast<int>(per_stage.size()) / alike.stage_count();
  simulation_options const options = step_machine(per_stage, messages, q);
  schedule const s = retime(alike, schedule_costs(options));
  program const p = lower(s);
  timeline const line = time_program(p, options);
  program_view const view = p.view();
  double last = 0;
  std::size_t at = 0;
  for (int d = 0; d < view.device_count; ++d) {
    double reductions = 0;
    for (int stage = 0; stage < s.stage_count(); ++stage)
      if (s.where.device_of(0, stage) == d) reductions += nth(per_stage, stage * q).reduction;
    tick end = 0;
    for (instruction const& i : view.stream(d)) {
      if (i.code == opcode::compute) end = max_of(end, line.timed[at].end);
      ++at;
    }
    last = max_of(last, static_cast<double>(end) * 1e-9 + reductions);
  }
  return last;
}

}  // namespace formulas
