#include <ashlar/optimize/list_scheduler.hpp>
// The header above comes first: it needs nothing before it.
#include "random.hpp"
#include "random_cases.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/catalog/v_family.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using namespace shapes;

namespace {

TEST_CASE("looking at one pass keeps the orders, both ways") {
  schedule const s = one_f_one_b(3, 4);
  list_scheduler d(s, chunk_activations(3));
  list_scheduler::solution t;
  CHECK(d.run(d.passes().orders, {}, {}, t));
  CHECK((t.orders == d.passes().orders && timed(s, d.passes(), t) == s && t.makespan == makespan(s)));
  CHECK(t.span == span(s));
  CHECK((d.run_reversed(d.passes().orders, {}, {}, t) && t.makespan == makespan(s)));
  CHECK(check(timed(s, d.passes(), t)).ok());
  CHECK(d.passes().orders_of(s) == d.passes().orders);
}

TEST_CASE("no more than the limit, whatever the orders") {
  schedule const s = catalog::gpipe(devices{2}, micro_batches{4}) | repeat(micro_batches{4}) | squeeze();
  list_scheduler d(s, chunk_activations(2));
  list_scheduler::solution t;
  CHECK(!d.run(d.passes().orders, {}, {}, t));  // the orders holds four
  CHECK(d.run(d.passes().orders, {.window = 8}, {}, t));
  schedule const less = timed(s, d.passes(), t);
  CHECK(check(less).ok());
  for (int peak : peak_activations(less)) CHECK(peak <= 2);
}

// Input passes give back four fifths of each stash. Dispatched so that it holds, a schedule keeps to
// the limit as if they gave back nothing; dispatched as it is, some schedule does not.
TEST_CASE("every stash counts until its weight pass, both ways") {
  int above = 0;
  for (int p : {2, 3, 4})
    for (int room : {2, 3, 5}) {
      schedule const s =
          split_backward(catalog::v_zb(devices{p})) | repeat(micro_batches{6}) | squeeze();
      memory_limit freed{.memory = {.stages = {{.stash = 5, .stash_left = 1}}}, .budget = {5 * room}},
          kept = freed;
      kept.memory.stages[0].stash_left = stage_memory::all;
      list_scheduler d(s, freed);
      list_scheduler::solution t;
      for (bool const holds : {false, true}) {
        if (!d.run(d.passes().orders, {.window = 96}, {}, t, holds)) continue;
        CHECK(check(timed(s, d.passes(), t)).ok());
        CHECK(is_within(timed(s, d.passes(), t), freed));
        if (holds)
          CHECK(is_within(timed(s, d.passes(), t), kept));
        else
          above += is_within(timed(s, d.passes(), t), kept) ? 0 : 1;
        if (!d.run_reversed(list_scheduler::device_orders(t.orders), {.window = 96}, {}, t, holds))
          continue;
        CHECK(check(timed(s, d.passes(), t)).ok());
        CHECK(is_within(timed(s, d.passes(), t), holds ? kept : freed));
      }
    }
  CHECK(above > 0);
  CHECK(list_scheduler(one_f_one_b(2, 4), chunk_activations(2)).passes().late_gives.empty());
}

TEST_CASE("what cannot be dispatched") {
  CHECK_BREAKS(every_pass_is_known, list_scheduler(with_work(one_f_one_b(2, 2)), chunk_activations(2)));
  list_scheduler const d(one_f_one_b(2, 2), chunk_activations(2));
  CHECK_BREAKS(every_pass_is_known, d.passes().orders_of(split_backward(catalog::one_f_one_b(devices{2}))
                                                         | repeat(micro_batches{2})));
}

// The rule as it is written: everything is counted anew for every choice.
class plain_scheduler {
 public:
  plain_scheduler(precedence_graph const& net, schedule const& s, int limit, bool reversed)
      : net_(net), s_(s), limit_(limit), reversed_(reversed) {}

  bool run(precedence_graph::device_orders rest, dispatch_rule rule, std::vector<tick> const& released) {
    rest_ = std::move(rest);
    std::size_t const p = rest_.size(), n = net_.what.size();
    start.assign(n, -1);
    orders.assign(p, {});
    free_ = released.empty() ? std::vector<tick>(p, 0) : released;
    held_.assign(p, 0);
    for (std::size_t done = 0; done < n; ++done) {
      choice best;
      std::size_t at = p;
      for (std::size_t d = 0; d < p; ++d)
        if (choice const c = choose(d, rule); c.place >= 0 && (at == p || c.start < best.start)) {
          best = c;
          at = d;
        }
      if (at == p) return false;
      int const x = rest_[at][static_cast<std::size_t>(best.place)];
      rest_[at].erase(rest_[at].begin() + best.place);
      orders[at].push_back(x);
      start[static_cast<std::size_t>(x)] = best.start;
      free_[at] = best.start + length(x);
      held_[at] += takes(x) - gives(x);
    }
    return true;
  }

  std::vector<tick> start;
  precedence_graph::device_orders orders;

 private:
  struct choice {
    int place = -1;
    tick start = 0;
  };

  tick length(int x) const { return net_.length[static_cast<std::size_t>(x)]; }
  byte_count takes(int x) const {
    return (reversed_ ? net_.gives : net_.takes)[static_cast<std::size_t>(x)];
  }
  byte_count gives(int x) const {
    return (reversed_ ? net_.takes : net_.gives)[static_cast<std::size_t>(x)];
  }

  // The time when its inputs have arrived; -1 if one has not run.
  tick ready(int x) const {
    lists<int> const& needs = reversed_ ? net_.feeds : net_.needs;
    auto const i = static_cast<std::size_t>(x);
    tick arrived = 0;
    for (int const needed : needs[i]) {
      auto const from = static_cast<std::size_t>(needed);
      if (start[from] < 0) return -1;
      int const a = static_cast<int>(net_.device[from]), b = static_cast<int>(net_.device[i]);
      arrived = std::max(arrived, start[from] + net_.length[from]
                                      + s_.cost.transfer(reversed_ ? b : a, reversed_ ? a : b));
    }
    return arrived;
  }

  choice choose(std::size_t d, dispatch_rule rule) const {
    choice found;
    tick latest_end = max_tick;
    std::vector<int> const& list = rest_[d];
    for (int i = 0; i < std::min(static_cast<int>(list.size()), rule.window); ++i) {
      int const x = list[static_cast<std::size_t>(i)];
      pass const what = net_.what[static_cast<std::size_t>(x)];
      if (ready(x) < 0) continue;
      byte_count held = held_[d] + takes(x);
      bool fits = takes(x) == 0 || held <= limit_, in_turn = true;
      held -= gives(x);
      for (int k = 0; k < i; ++k) {
        int const y = list[static_cast<std::size_t>(k)];
        pass const other = net_.what[static_cast<std::size_t>(y)];
        in_turn = in_turn && (other.stage != what.stage || other.kind != what.kind);
        fits = fits && (takes(x) == 0 || held + takes(y) <= limit_);
        held += takes(y) - gives(y);
      }
      tick const begin = std::max(free_[d], ready(x));
      if (fits && in_turn && begin + length(x) <= latest_end && (found.place < 0 || begin < found.start))
        found = {i, begin};
      if (fits) latest_end = std::min(latest_end, begin + length(x) * rule.tolerance / 100);
    }
    return found;
  }

  precedence_graph const& net_;
  schedule const& s_;
  byte_count limit_;
  bool reversed_;
  precedence_graph::device_orders rest_;
  std::vector<tick> free_;
  std::vector<byte_count> held_;
};

TEST_CASE("each choice is what the rule says, in both directions") {
  int stuck = 0, other_orders = 0;
  FOR_SEEDS(static_cast<std::uint64_t>(random_cases(600))) {
    CAPTURE(seed);
    int const p = d.between(2, 4), m = d.between(2, 6);
    costs const cost(stage_cost{d.between(1, 4), d.between(1, 5), d.between(1, 3)}, d.between(0, 3));
    auto const of = d.percent(50) ? catalog::v_half : d.percent(50) ? catalog::zb_h1 : catalog::v_min;
    schedule const s = of(devices{p}) | repeat(micro_batches{m}) | retime(cost);
    int const limit = d.between(2, 2 * p + 2);
    dispatch_rule const rule{d.between(1, 9), 10 * d.between(0, 10)};
    std::vector<tick> released;
    if (d.percent(50))
      for (int i = 0; i < p; ++i) released.push_back(d.between(0, 9));

    list_scheduler fast(s, chunk_activations(limit));
    precedence_graph const& net = fast.passes();
    precedence_graph::device_orders orders =
        net.orders;  // in which micro-batches come in other orders, too
    for (auto& order : orders)
      for (int i = d.between(0, 3); i > 0; --i) {
        int const last = static_cast<int>(order.size()) - 1;
        std::swap(order[static_cast<std::size_t>(d.between(0, last))],
                  order[static_cast<std::size_t>(d.between(0, last))]);
      }
    list_scheduler::solution t;
    plain_scheduler forward(net, s, limit, false);
    bool const ended = forward.run(orders, rule, released);
    REQUIRE(fast.run(orders, rule, released, t) == ended);
    stuck += !ended;
    if (ended) {
      CHECK(t.orders == forward.orders);
      CHECK(t.start == forward.start);
      other_orders += t.orders != orders;
    }
    precedence_graph::device_orders turned = orders;
    for (auto& order : turned) std::reverse(order.begin(), order.end());
    plain_scheduler backward(net, s, limit, true);
    bool const both = backward.run(turned, rule, released);
    REQUIRE(fast.run_reversed(orders, rule, released, t) == both);
    if (!both) continue;
    for (auto& order : backward.orders) std::reverse(order.begin(), order.end());
    CHECK(t.orders == backward.orders);
  }
  CHECK(stuck > 0);
  CHECK(other_orders > random_cases(60));
}

}  // namespace
