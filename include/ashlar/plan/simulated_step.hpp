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

// Of one stage, in seconds.
struct stage_seconds {
  double forward = 0;    // of a micro-batch
  double backward = 0;   // with what it runs again
  double send = 0;       // of its output to the next stage, or of the gradient back
  double reduction = 0;  // of its gradient over the data ranks, beside no pass
  double gather = 0;     // of its weights for each forward and backward, if they are kept in shards
  double scatter = 0;    // of its gradient after each backward, likewise
};

enum class message_mode : unsigned char {
  beside,    // transfers run beside passes
  blocking,  // a device computes nothing while it sends forward or back
};

// Ticks are nanoseconds: a pass is at least one.
constexpr tick nanoseconds(double seconds) {
  return max_of(tick{1}, static_cast<tick>(seconds * 1e9 + 0.5));
}

// The machine on which a tick is a nanosecond and a message has a byte for each that it takes. Backwards
// are split in halves where they are split. Schedules know the longest message, so that its slot is free
// by the time that it may begin.
constexpr simulation_options step_machine(std::vector<stage_seconds> const& per_stage,
                                          message_mode messages) {
  simulation_options options;
  options.memory.stages.resize(per_stage.size());
  options.cost.per_stage.clear();
  for (std::size_t i = 0; i < per_stage.size(); ++i) {
    stage_seconds const& s = per_stage[i];
    bool const blocks = messages == message_mode::blocking;
    double const back = blocks && i > 0 ? per_stage[i - 1].send : 0;
    tick const backward = max_of(tick{2}, nanoseconds(s.backward + back));
    options.cost.per_stage.push_back({.forward = nanoseconds(s.forward + (blocks ? s.send : 0)),
                                      .backward_input = backward / 2,
                                      .backward_weight = backward - backward / 2});
    byte_count const message = blocks ? 0 : static_cast<byte_count>(s.send * 1e9 + 0.5);
    options.memory.stages[i].activation = options.memory.stages[i].gradient = message;
    options.cost.message = max_of(options.cost.message, message);
  }
  options.cost.links.inside = {.latency = 0, .bandwidth = 1};  // a tick a byte
  return options;
}

// Seconds of a step of these passes in their order, under the stages' own times. Throws violation as
// retime and lower do. Linear in the passes.
constexpr double simulated_step(schedule const& alike, std::vector<stage_seconds> const& per_stage,
                                message_mode messages) {
  simulation_options const options = step_machine(per_stage, messages);
  schedule const s = retime(alike, options.cost);
  program const p = lower(s);
  timeline const line = time_program(p, options);
  program_view const view = p.view();
  double last = 0;
  std::size_t at = 0;
  for (int d = 0; d < view.device_count; ++d) {
    double reductions = 0;
    for (int stage = 0; stage < s.stage_count(); ++stage)
      if (s.where.device_of(0, stage) == d) reductions += nth(per_stage, stage).reduction;
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
