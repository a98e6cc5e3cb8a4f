// Transforms of schedules.
#pragma once

#include "doors/knock.hpp"
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/fuse.hpp>
#include <ashlar/schedule/reorder.hpp>
#include <ashlar/schedule/squeeze.hpp>

namespace doors {

inline void of_schedules(dice& d) {
  schedule s = some_entry(d).make({devices{2}, micro_batches{4}});
  schedule const good = s;
  for (int changes = d.between(0, 3); changes > 0; --changes) change(d, s);
  bool const valid = check(s).ok();
  knock([&] {
    schedule const t = squeeze(s);
    if (valid) demand_valid(t);
  });
  knock([&] {
    costs other = s.cost;
    change_cost(d, other);
    retime(s, other);
  });
  for (reordering const how : {reordering::at_ends, reordering::throughout})
    knock([&] {
      schedule const t = reorder(s, how);
      if (valid) demand_valid(t);
    });
  knock([&] { shift(s, extreme(d, tick{3})); });
  knock([&] { then(s, good); });
  knock([&] { then(good, s); });
  knock([&] { merge(s, good); });
  knock([&] { split_backward(s); });
  knock([&] {
    schedule const t = fuse_backward(s);
    if (valid) demand_valid(t);
  });
  knock([&] {
    schedule const t = fuse_where_free(s);
    if (valid) demand_valid(t);
  });
  knock([&] { take(s, micro_batches{extreme(d, 2)}); });
  knock([&] { recompute(s, {extreme(d, 1)}); });
  knock([&] { mirror(s); });
}

}  // namespace doors
