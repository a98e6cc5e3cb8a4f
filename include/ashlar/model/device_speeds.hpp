// Devices that are not equally fast: what the stages that they hold take on them.
#pragma once

#include <ashlar/core/cost.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/model/placement.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// One entry a device, in percent of the speed that costs are given for: at 50 passes take twice as long.
struct device_speeds {
  std::vector<int> percent;
};

// One speed a device (rule::tables_agree), of at least 1 % (rule::parameter_is_at_least, with the
// device).
constexpr diagnosis check(device_speeds const& speeds, placement const& where) {
  if (speeds.percent.size() != static_cast<std::size_t>(where.device_count()))
    return {.broken = rule::tables_agree, .number = static_cast<std::int64_t>(speeds.percent.size())};
  for (int d = 0; d < where.device_count(); ++d)
    if (int const given = speeds.percent[static_cast<std::size_t>(d)]; given < 1)
      return {.broken = rule::parameter_is_at_least,
              .first = {.device = d},
              .number = 1,
              .which = parameter::device_speed,
              .given = given};
  return {};
}

// Ticks at so many percent of the speed, at least 1, that they are given for. Rounded up: a pass is
// never said to be shorter than it is. Times out of range become max_tick.
constexpr tick at_speed(tick time, int percent) {
  tick const rest = time % percent * 100;
  return saturating_sum(saturating_product(time / percent, 100),
                        rest / percent + (rest % percent != 0 ? 1 : 0));
}
constexpr stage_cost at_speed(stage_cost const& c, int percent) {
  stage_cost slower{.forward = at_speed(c.forward, percent),
                    .backward_input = at_speed(c.backward_input, percent),
                    .backward_weight = at_speed(c.backward_weight, percent)};
  if (c.recompute != stage_cost::same_as_forward) slower.recompute = at_speed(c.recompute, percent);
  return slower;
}

// What each stage takes on the device that holds it. Each kind of pass is rounded up by itself. What is
// one number for all devices stays as it is: transfers, and `overlapped` if given. Throws
// violation{check(speeds, where)}, rule::tables_agree for costs of other stages, and
// rule::replicas_are_equally_fast where routes put a stage on devices of different speeds: costs are by
// stage.
constexpr costs at_speeds(costs const& nominal, placement const& where, device_speeds const& speeds) {
  if (diagnosis const d = check(speeds, where); !d.ok()) throw violation{d};
  std::size_t const given = nominal.per_stage.size();
  if (given != 1 && given != static_cast<std::size_t>(where.stage_count()))
    throw violation{{.broken = rule::tables_agree, .number = static_cast<std::int64_t>(given)}};
  costs each = nominal;
  each.per_stage.clear();
  for (int stage = 0; stage < where.stage_count(); ++stage) {
    int const speed = speeds.percent[static_cast<std::size_t>(where.device_of(0, stage))];
    for (int route = 1; route < where.route_count(); ++route)
      if (int const device = where.device_of(route, stage);
          speeds.percent[static_cast<std::size_t>(device)] != speed)
        throw violation{{.broken = rule::replicas_are_equally_fast,
                         .first = {.device = where.device_of(0, stage), .what = {.stage = stage}},
                         .second = {.device = device, .what = {.stage = stage}}}};
    each.per_stage.push_back(at_speed(nominal.of_stage(stage), speed));
  }
  return each;
}

}  // namespace ashlar
