#include "cost_options.hpp"

#include "command.hpp"
#include "counted.hpp"
#include "limits.hpp"
#include "number_option.hpp"
#include "per_stage.hpp"

#include <fmt/core.h>

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
  add_numbers(command, "--speeds", o.speeds, 1, most_percent,
              "speed of each device, in percent of that which costs are for: 100,100,50,100")
      ->type_name("PERCENT");
}

namespace {

ashlar::costs at_full_speed(cost_options const& o) {
  if (!o.per_stage.empty()) return {read_per_stage(o.per_stage), o.transfer};
  return {
      {.forward = o.forward, .backward_input = o.backward_input, .backward_weight = o.backward_weight},
      o.transfer};
}

}  // namespace

ashlar::costs costs_of(cost_options const& o, long long p) {
  if (!o.speeds.empty() && static_cast<long long>(o.speeds.size()) != p)
    throw usage_error(fmt::format("--speeds has speeds of {}, but there are {}",
                                  counted(static_cast<long long>(o.speeds.size()), "device"), p));
  ashlar::costs cost = at_full_speed(o);
  cost.speeds = o.speeds;
  return cost;
}

}  // namespace tool
