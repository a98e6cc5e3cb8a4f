// The time of a step by simulation of the lowered program.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Of one stage, in seconds; or of one of its chunks of a sequence.
struct stage_seconds {
  double forward = 0;    // of a micro-batch
  double backward = 0;   // with what it runs again
  double send = 0;       // of its output to the next stage, or of the gradient back
  double reduction = 0;  // of its gradient over the data ranks, beside no pass
  double gather = 0;     // of its weights for each forward and backward, if they are kept in shards
  double scatter = 0;    // of its gradient after each backward, likewise
  double forward_attention = 0;   // of the forward, causal attention
  double backward_attention = 0;  // of the backward, likewise
  double weight = half;           // of the backward, its weight pass, where it is split

  static constexpr double half = -1;
};

enum class message_mode : unsigned char {
  beside,    // transfers run beside passes
  blocking,  // a device computes nothing while it sends forward or back
};

// Ticks are nanoseconds: a pass is at least one.
constexpr tick nanoseconds(double seconds) {
  return max_of(tick{1}, static_cast<tick>(seconds * 1e9 + 0.5));
}

// The machine on which a tick is a nanosecond and a message has a byte for each that it takes. Where the
// chunks of sequences are told apart, there is an entry for each stage and chunk, as in `costs`; those
// of a stage have messages alike. Schedules know the longest message, so that its slot is free by the
// time that it may begin.
constexpr simulation_options step_machine(std::vector<stage_seconds> const& per_stage,
                                          message_mode messages, int sequence_chunks = 1) {
  simulation_options options;
  auto const q = static_cast<std::size_t>(sequence_chunks);
  options.memory.stages.resize(per_stage.size() / q);
  options.cost.per_stage.clear();
  options.cost.sequence_chunks = sequence_chunks;
  for (std::size_t i = 0; i < per_stage.size(); ++i) {
    stage_seconds const& s = per_stage[i];
    bool const blocks = messages == message_mode::blocking;
    double const back = blocks && i >= q ? per_stage[i - q].send : 0;
    tick const backward = max_of(tick{2}, nanoseconds(s.backward + back)),
               weight = s.weight == stage_seconds::half ? backward - backward / 2
                                                        : min_of(nanoseconds(s.weight), backward - 1);
    options.cost.per_stage.push_back({.forward = nanoseconds(s.forward + (blocks ? s.send : 0)),
                                      .backward_input = backward - weight,
                                      .backward_weight = weight});
    byte_count const message = blocks ? 0 : static_cast<byte_count>(s.send * 1e9 + 0.5);
    stage_memory& held = options.memory.stages[i / q];
    held.activation = held.gradient = message;
    options.cost.message = max_of(options.cost.message, message);
  }
  options.cost.links.inside = {.latency = 0, .bandwidth = 1};  // a tick a byte
  return options;
}

// Seconds of a step of these passes in their order, under the stages' own times, or those of each of
// their chunks. Throws violation as retime and lower do. Linear in the passes.
constexpr double simulated_step(schedule const& alike, std::vector<stage_seconds> const& per_stage,
                                message_mode messages) {
  int const q = static_cast<int>(per_stage.size()) / alike.stage_count();
  simulation_options const options = step_machine(per_stage, messages, q);
  schedule const s = retime(alike, options.cost);
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

}  // namespace ashlar
