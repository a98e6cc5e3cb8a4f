#include "cost_options.hpp"

#include "number_option.hpp"
#include "per_stage.hpp"

namespace tool {

void add_cost_options(CLI::App& command, cost_options& o) {
  auto* const per_stage =
      command
          .add_option(
              "--per-stage", o.per_stage,
              "costs of each stage: a line a stage, `forward,backward_input,backward_weight` in ticks; "
              "lines that begin with # are comments")
          ->type_name("FILE");
  add_number(command, "--forward", o.forward, 1, ashlar::max_tick, "ticks of a stage's forward")
      ->excludes(per_stage);
  add_number(command, "--backward-input", o.backward_input, 1, ashlar::max_tick,
             "ticks of the gradient of a stage's input")
      ->excludes(per_stage);
  add_number(command, "--backward-weight", o.backward_weight, 1, ashlar::max_tick,
             "ticks of the gradient of its weights (fused: the sum)")
      ->excludes(per_stage);
  add_number(command, "--transfer", o.transfer, 0, ashlar::max_tick, "ticks from device to device");
}

ashlar::costs costs_of(cost_options const& o) {
  if (!o.per_stage.empty()) return {read_per_stage(o.per_stage), o.transfer};
  return {
      {.forward = o.forward, .backward_input = o.backward_input, .backward_weight = o.backward_weight},
      o.transfer};
}

}  // namespace tool
