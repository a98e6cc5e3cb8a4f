#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/plan/training/simulated_step.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <cstddef>
#include <utility>

namespace ashlar {

simulation_options step_machine(std::vector<stage_seconds> const& per_stage, message_mode messages,
                                int sequence_chunks) {
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

double simulated_step(schedule const& alike, std::vector<stage_seconds> const& per_stage,
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

}  // namespace ashlar
