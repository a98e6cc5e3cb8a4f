// Passes that take no time, in ticks so fine that all passes take some.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/moved_times.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/turns.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// Makes ticks so fine that passes which take no time can take one, each after those that it waits for:
// the orders then distinguish passes of one start and end. Schedule and result are valid. Throws
// violation{rule::ticks_fit} where times so fine are out of range.
constexpr schedule without_instants(schedule s) {
  tick slowest = 1;  // what a tick becomes on the slowest device
  for (int const percent : s.cost.on.speeds) slowest = max_of(slowest, at_speed(1, percent));
  tick const turn = 3 * slowest;  // a pair of a forward and both parts of a backward
  std::size_t count = 1;
  for (auto const& order : s.order) count += order.size();
  tick const unit = saturating_product(turn, static_cast<tick>(count));

  tick now = 0;
  std::vector<std::vector<time_slot>> order = s.order;
  diagnosis const cycle = take_turns(s, [&](std::size_t d, std::size_t index) {
    order[d][index].start = shifted(stretched(order[d][index].start, unit), now);
    now += turn;
  });
  if (!cycle.ok()) refuse(cycle);
  s.order = static_cast<std::vector<std::vector<time_slot>>&&>(order);

  auto const finer = [unit](tick time) { return time == 0 ? 1 : stretched(time, unit); };
  s.cost.passes.change_each(
      [&](stage_cost& c) { c.change_each([&](tick& each) { each = finer(each); }); });
  s.cost.passes.overlapped.change_each(finer);
  for_each_link(s.cost.on.links,
                [&](link_speed& l) { l = {.latency = stretched(l.time_of(s.cost.message), unit)}; });
  s.work = stretched(std::move(s.work), unit);
  return s;
}

}  // namespace ashlar
