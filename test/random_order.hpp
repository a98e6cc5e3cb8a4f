// One device's order with pairs, split passes and work, as no schedule needs to have it.
#pragma once

#include "random.hpp"
#include <ashlar/model/work.hpp>
#include <ashlar/schedule/schedule.hpp>

namespace random_case {

// Slots without idle time between them; passes of these stages, in any order.
inline schedule random_order(dice& d, int stage_count, int slot_count) {
  schedule s;
  s.where = make_placement(devices{1}, stages{stage_count}, [](int) { return 0; });
  s.graph = chain(stages{stage_count});
  s.cost = costs(stage_cost{2, 2, 1});
  s.work = work_graph({{.parts = {{0, 2}}}}, {});
  s.order.resize(1);
  tick now = 0;
  for (int i = 0; i < slot_count; ++i) {
    auto const one_of = [&](auto... kinds) {
      pass_kind const all[] = {kinds...};
      return pass{all[d.between(0, sizeof...(kinds) - 1)], d.between(0, stage_count - 1), 0};
    };
    constexpr auto back = pass_kind::backward, input = pass_kind::backward_input,
                   weight = pass_kind::backward_weight, forward = pass_kind::forward;
    time_slot const slot = d.percent(40)   ? time_slot(one_of(forward), now, one_of(back, input, weight))
                           : d.percent(10) ? time_slot(part_id{0, 0}, now)
                                           : time_slot(one_of(forward, back, input, weight), now);
    s.order[0].push_back(slot);
    now = s.end_of(slot, 0);
  }
  return s;
}

}  // namespace random_case
