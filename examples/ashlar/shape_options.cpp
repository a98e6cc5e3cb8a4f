#include "shape_options.hpp"

#include "command.hpp"
#include "limits.hpp"
#include "per_stage.hpp"
#include "suggest.hpp"
#include <ashlar/check_block.hpp>
#include <ashlar/render/diagnosis.hpp>

#include <fmt/core.h>

#include <utility>
#include <vector>

namespace tool {

namespace {

ashlar::catalog::entry const& entry_named(std::string const& name) {
  if (ashlar::catalog::entry const* const entry = ashlar::catalog::find(name)) return *entry;
  std::string const near = nearest_name(name);
  throw usage_error(fmt::format("there is no schedule '{}'{}; see `ashlar list`", name.substr(0, 64),
                                near.empty() ? "" : fmt::format(": did you mean '{}'?", near)));
}

void must_lie(char const* what, long long value, long long least, long long most) {
  if (value < least || value > most)
    throw usage_error(fmt::format("{} must be from {} to {}, not {}", what, least, most, value));
}

ashlar::costs costs_of(shape_options const& o) {
  must_lie("--transfer", o.transfer, 0, ashlar::max_tick);
  if (!o.per_stage.empty()) return {read_per_stage(o.per_stage), o.transfer};
  must_lie("--forward", o.forward, 1, ashlar::max_tick);
  must_lie("--backward-input", o.backward_input, 1, ashlar::max_tick);
  must_lie("--backward-weight", o.backward_weight, 1, ashlar::max_tick);
  return {
      {.forward = o.forward, .backward_input = o.backward_input, .backward_weight = o.backward_weight},
      o.transfer};
}

}  // namespace

void add_shape_options(CLI::App& command, shape_options& o) {
  command.add_option("name", o.name, "schedule, one of `ashlar list`")->required()->type_name("NAME");
  auto const count = [&](char const* flags, long long& value, char const* help) {
    return command.add_option(flags, value, help)->type_name("N")->capture_default_str();
  };
  count("-p,--devices", o.p, "pipeline devices");
  count("-m,--micro-batches", o.m, "micro-batches");
  auto* const per_stage =
      command
          .add_option(
              "--per-stage", o.per_stage,
              "costs of each stage: a line a stage, `forward,backward_input,backward_weight` in ticks; "
              "lines that begin with # are comments")
          ->type_name("FILE");
  count("--forward", o.forward, "ticks of a stage's forward")->excludes(per_stage);
  count("--backward-input", o.backward_input, "ticks of the gradient of a stage's input")
      ->excludes(per_stage);
  count("--backward-weight", o.backward_weight, "ticks of the gradient of its weights (fused: the sum)")
      ->excludes(per_stage);
  count("--transfer", o.transfer, "ticks from device to device");
}

chosen_schedule choose(shape_options const& o) {
  ashlar::catalog::entry const& entry = entry_named(o.name);
  must_lie("-p/--devices", o.p, 1, most_devices);
  must_lie("-m/--micro-batches", o.m, 1, most_micro_batches);
  auto const too_large = [&](long long passes) {
    return usage_error(
        fmt::format("{} devices with {} micro-batches make {} passes or more; the limit is {}", o.p, o.m,
                    passes, most_passes));
  };
  if (2 * o.p * o.m > most_passes) throw too_large(2 * o.p * o.m);

  ashlar::catalog::shape const shape{ashlar::devices{static_cast<int>(o.p)},
                                     ashlar::micro_batches{static_cast<int>(o.m)}, costs_of(o)};
  ashlar::block block = entry.build(shape);
  long long const passes =
      static_cast<long long>(block.cells.size()) * (o.m / std::max(block.micro_batch_count(), 1));
  if (passes > most_passes) throw too_large(passes);
  int const stage_count = block.where.stage_count();
  if (!o.per_stage.empty() && static_cast<int>(shape.cost.per_stage.size()) != stage_count)
    throw usage_error(fmt::format("'{}' has costs of {} stages, but {} on {} devices has {} stages",
                                  o.per_stage, shape.cost.per_stage.size(), entry.name, o.p,
                                  stage_count));
  if (auto const d = ashlar::check(shape.cost, stage_count, shape.m.value); !d.ok())
    throw usage_error(ashlar::explain(d));
  return {&entry, std::move(block), entry.make(shape)};
}

}  // namespace tool
