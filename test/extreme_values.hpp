// Schedules, blocks and workloads in which one field or another may be anything.
#pragma once

#include "extreme_fields.hpp"
#include <ashlar/block/block.hpp>
#include <ashlar/bounds/workload.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <limits>
#include <vector>

namespace extreme_fields {

inline void change(dice& d, schedule& s) {
  std::vector<time_slot>* const order = s.order.empty() ? nullptr : &one_of(d, s.order);
  switch (d.between(-2, 10)) {
    case -2:
    case -1:
      change_work(d, s.work);
      return;
    case 0:
      change_graph(d, s.graph);
      return;
    case 1:
      s.where = other_placement(d, s.where);
      return;
    case 2:
      change_list(d, s.route);
      return;
    case 3:
      change_cost(d, s.cost);
      return;
    case 4:
      s.mode = s.mode == execution_mode::training ? execution_mode::inference : execution_mode::training;
      s.order.resize(static_cast<std::size_t>(d.between(0, 5)));
      return;
    case 5:
      if (order != nullptr)
        order->push_back({{pass_kind::work, extreme(d, 0), extreme(d, 0)}, 1'000'000});
      return;
    default:
      break;
  }
  if (order == nullptr || order->empty()) return;
  time_slot& t = one_of(d, *order);
  switch (d.between(0, 3)) {
    case 0:
      put(d, *order, &time_slot::start);
      return;
    case 1:
      t.beside = one_of(d, *order).what;
      if (d.percent(50)) change_pass(d, t.beside);
      return;
    case 2:
      t.what = one_of(d, *order).what;
      return;
    default:
      change_pass(d, t.what);
  }
}

inline void change(dice& d, block& b) {
  switch (d.between(0, 8)) {
    case 0:
      change_graph(d, b.graph);
      return;
    case 1:
      b.where = other_placement(d, b.where);
      return;
    case 2:
      change_list(d, b.route);
      return;
    case 3:
      change_cost(d, b.cost);
      return;
    case 4:
      b.mode = b.mode == execution_mode::training ? execution_mode::inference : execution_mode::training;
      return;
    case 5:
      b.interval = extreme(d, b.interval);
      return;
    case 6:
      if (!b.cells.empty()) change_pass(d, one_of(d, b.cells).what);
      return;
    case 7:
      b.cells.push_back({{any_of<pass_kind>(d, pass_kinds - 1), extreme(d, 0), extreme(d, 0)}, 0});
      return;
    default:
      put(d, b.cells, &cell::offset);
  }
}

inline void change(dice& d, workload& w) {
  switch (d.between(0, 6)) {
    case 0:
      w.where = other_placement(d, w.where);
      return;
    case 1: {
      int const m = extreme(d, w.micro_batch_count);
      w.micro_batch_count = m < 1000 ? m : std::numeric_limits<int>::max();
      return;
    }
    case 2:
      change_cost(d, w.cost);
      return;
    case 3:
      change_list(d, w.limit.budget);
      return;
    case 4:
      change_memory(d, w.limit.memory);
      return;
    case 5:
      w.sequence_chunks = extreme(d, w.sequence_chunks);
      return;
    default:
      w.mode = d.percent(50) ? execution_mode::training : execution_mode::inference;
      w.splits_backward = d.percent(50);
  }
}

}  // namespace extreme_fields
