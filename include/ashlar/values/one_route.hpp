// The conditions for work on values of micro-batches.
#pragma once

#include <ashlar/core/diagnosis.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/schedule.hpp>

namespace ashlar {

// Checks that a schedule is valid and trains, on one route. Fails with rule::every_pass_is_present for
// inference, rule::parameter_is_at_most for several routes. O(n) in passes.
constexpr diagnosis check_trains_on_one_route(schedule const& s) {
  if (diagnosis const d = check(s); !d.ok()) return d;
  if (s.mode == execution_mode::inference)
    return {.broken = rule::every_pass_is_present, .first = {.what = {pass_kind::backward, 0, 0}}};
  return at_most(parameter::route_count, s.where.route_count(), 1);
}

}  // namespace ashlar
