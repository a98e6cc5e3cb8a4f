// (schedule, schedule) -> schedule: the second one behind the first on every device, without a barrier.
#pragma once

#include <ashlar/optimize/list_scheduler.hpp>

namespace ashlar {

// Starts each pass of `next` as early as its order and inputs allow, none before the last pass of
// `before` on its device. Where one fills, the other still drains. Both may be of any kind, as a pass of
// log-probabilities and a training step, and stay schedules and programs of their own. Throws violation:
// check_form() of both, rule::tables_agree for other devices, rule::order_has_no_cycle, and as
// list_scheduler does: pairs are refused. O(passes devices).
schedule start_behind(schedule next, schedule const& before);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/optimize/start_behind.ipp>
#endif
