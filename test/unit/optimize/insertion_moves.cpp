#include <ashlar/optimize/insertion_moves.hpp>
// The header above comes first: it needs nothing before it.
#include "moved_passes.hpp"
#include "random_cases.hpp"
#include <ashlar/optimize/improve.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace shapes;

namespace {

TEST_CASE("what may change places") {
  schedule const s = one_f_one_b(2, 2);  // device 0: F0 F1 B0 B1, device 1: F0 B0 F1 B1
  list_scheduler scheduler(s, chunk_activations(2));
  list_scheduler::solution t;
  CHECK(scheduler.run(scheduler.passes().orders, {}, {}, t));
  disjunctive_graph graph(scheduler.passes(), s);
  insertion_moves loose(graph, s, chunk_activations(2)), tight(graph, s, chunk_activations(1));
  graph.set(t, {0, 0});
  loose.reset();
  tight.reset();
  CHECK(!loose.allows({1, 0, 1, true}));                                     // B0 needs F0
  CHECK(!loose.allows({0, 0, 1, true}));                                     // F1 before F0
  CHECK(!loose.allows({1, 0, 2, false}));                                    // F1 before F0, over B0
  CHECK((loose.allows({1, 1, 2, true}) && !tight.allows({1, 1, 2, true})));  // F0 F1 B0 B1
  CHECK(!loose.allows({0, 1, 3, true}));  // B1 needs F1, by way of device 1
  tick const estimate = loose.estimate({1, 1, 2, true});
  loose.apply({1, 1, 2, true});
  CHECK(graph.orders()[1]
        == std::vector<int>{t.orders[1][0], t.orders[1][2], t.orders[1][1], t.orders[1][3]});
  CHECK((estimate == graph.longest() && loose.visits() == 4));
  CHECK(loose.allows({1, 1, 2, false}));  // and back
}

bool keeps_micro_batches_in_order(precedence_graph const& passes,
                                  precedence_graph::device_orders const& orders) {
  for (std::vector<int> const& order : orders)
    for (std::size_t i = 0; i < order.size(); ++i)
      for (std::size_t j = i + 1; j < order.size(); ++j) {
        pass const a = passes.what[static_cast<std::size_t>(order[i])],
                   b = passes.what[static_cast<std::size_t>(order[j])];
        if (a.kind == b.kind && a.stage == b.stage && a.micro_batch > b.micro_batch) return false;
      }
  return true;
}

// Whether something may lie on a path between the passes of a move, to judge by their times alone.
bool may_be_circular(disjunctive_graph const& graph, insertion_move const& m) {
  std::vector<int> const& order = graph.orders()[m.device];
  int const first = order[m.first], last = order[m.last];
  bool may = false;
  if (m.is_later)
    for (disjunctive_graph::arc const& a : graph.feeds_of(first))
      may = may || graph.head_of(last) >= graph.end_of(a.other);
  else
    for (disjunctive_graph::arc const& a : graph.needs_of(last))
      may = may || graph.head_of(a.other) >= graph.end_of(first);
  return may;
}

TEST_CASE(
    "allowed moves keep to memory, inputs and the order of micro-batches; neighbours are rated "
    "exactly") {
  int allowed = 0, refused_in_vain = 0, far = 0, far_exact = 0;
  FOR_SEEDS(static_cast<std::uint64_t>(random_cases(200))) {
    CAPTURE(seed);
    moved_passes::example e(d);
    precedence_graph const& passes = e.passes();
    memory_limit const limit = chunk_activations(peak_of_all(e.of) - d.between(0, 1));
    if (!is_within(timed(e.of, passes, e.first), limit)) continue;
    disjunctive_graph graph(passes, e.of);
    insertion_moves moves(graph, e.of, limit);
    graph.set(e.first, e.released);
    moves.reset();
    for (int i = 0; i < 30; ++i) {
      insertion_move const m = moved_passes::any_move(d, graph.orders());
      precedence_graph::device_orders const orders = moved_passes::moved(graph.orders(), m);
      list_scheduler::solution t;
      bool const is_possible = e.scheduler.run(orders, {}, e.released, t)
                               && is_within(timed(e.of, passes, t), limit)
                               && keeps_micro_batches_in_order(passes, orders);
      if (!moves.allows(m)) {
        CHECK((!is_possible || may_be_circular(graph, m)));
        int const before = graph.orders()[m.device][m.last - 1], x = graph.orders()[m.device][m.last];
        bool const is_tight = m.last == m.first + 1 && graph.end_of(before) == graph.head_of(x);
        CHECK_FALSE((is_possible && is_tight));  // as are neighbours on a longest path
        refused_in_vain += is_possible ? 1 : 0;
        continue;
      }
      REQUIRE(is_possible);
      ++allowed;
      tick const estimate = moves.estimate(m);
      moves.apply(m);
      CHECK(graph.orders() == orders);
      tick longest = 0;
      for (std::size_t at = m.first; at <= m.last; ++at) {
        int const x = graph.orders()[m.device][at];
        longest = std::max(longest, graph.head_of(x) + graph.rest_of(x));
      }
      if (m.last == m.first + 1) {
        CHECK(estimate == longest);
      } else {
        ++far;
        far_exact += estimate == longest ? 1 : 0;
      }
    }
  }
  CHECK(allowed > random_cases(600));
  CHECK(refused_in_vain < allowed / 2);
  CHECK(far_exact > far * 2 / 3);
}

}  // namespace
