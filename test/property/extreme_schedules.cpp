// Whatever the fields of a schedule, a block or a workload hold, a check reads nothing that is not there
// and comes to an end. The sanitizers are the judges here.
#include "extreme_fields.hpp"
#include "random_cases.hpp"
#include <ashlar/block/check.hpp>
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/catalog/entries.hpp>
#include <ashlar/conformance/random_work.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/schedule/check.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

using namespace extreme_fields;

namespace {

void change(dice& d, schedule& s) {
  std::vector<timed_pass>* const order = s.order.empty() ? nullptr : &one_of(d, s.order);
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
  timed_pass& t = one_of(d, *order);
  switch (d.between(0, 3)) {
    case 0:
      put(d, *order, &timed_pass::start);
      return;
    case 1:
      put(d, *order, &timed_pass::overlaps);
      return;
    case 2:
      t.what = one_of(d, *order).what;
      return;
    default:
      change_pass(d, t.what);
  }
}

TEST_CASE("a schedule whose fields hold anything") {
  for (catalog::entry const& e : catalog::entries) {
    catalog::shape const shape{devices{2}, micro_batches{4}};
    if (!e.check(shape).ok()) continue;
    schedule const good = e.make(shape);
    FOR_SEEDS(static_cast<std::uint64_t>(random_cases(1000))) {
      CAPTURE(e.name);
      CAPTURE(seed);
      schedule s = seed % 4 == 0 ? conformance::with_random_work(good, seed, 3) : good;
      if (d.percent(50))
        s.cost.per_stage.resize(static_cast<std::size_t>(s.stage_count()), s.cost.per_stage[0]);
      for (int changes = seed % 3 == 0 ? 2 : 1; changes > 0; --changes) change(d, s);
      CHECK(!explain(check_passes(s), s).empty());
      CHECK(!explain(check(s), s).empty());
      try {
        schedule_bound(s);
      } catch (violation const& v) {
        CHECK(!explain(v.why, s).empty());
      }
    }
  }
}

void change(dice& d, block& b) {
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

TEST_CASE("a block whose fields hold anything") {
  for (catalog::entry const& e : catalog::entries) {
    catalog::shape const shape{devices{2}, micro_batches{4}};
    if (!e.check(shape).ok() || e.block_of == nullptr) continue;
    block const good = e.block_of(shape);
    FOR_SEEDS(static_cast<std::uint64_t>(random_cases(1000))) {
      CAPTURE(e.name);
      CAPTURE(seed);
      block b = good;
      for (int changes = seed % 3 == 0 ? 2 : 1; changes > 0; --changes) change(d, b);
      CHECK(!explain(check(b), b).empty());
    }
  }
}

void change(dice& d, workload& w) {
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

TEST_CASE("a workload whose fields hold anything") {
  FOR_SEEDS(static_cast<std::uint64_t>(random_cases(4000))) {
    CAPTURE(seed);
    workload w{.where = random_placement(d, devices{d.between(1, 3)}, stages{d.between(1, 5)}),
               .micro_batch_count = d.between(1, 4)};
    for (int changes = d.between(1, 3); changes > 0; --changes) change(d, w);
    diagnosis const found = check(w);
    CHECK(!explain(found).empty());
    if (!found.ok()) continue;
    CHECK(workload_bound(w).makespan >= busiest_work(w));
  }
}

}  // namespace
