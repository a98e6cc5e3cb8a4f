// Compares two chains of parts on two resources with all orders there are.
#include "part_lists.hpp"
#include "random.hpp"
#include "random_cases.hpp"
#include <ashlar/core/braid.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

using namespace ashlar;
using namespace part_lists;

namespace {

// Every order in which the parts of both can be begun, each as soon as its resource and the part before
// it allow.
struct all_orders {
  std::vector<pass_part> const& a;
  std::vector<pass_part> const& b;
  tick best = max_tick;

  void from(std::size_t i, std::size_t j, std::array<tick, 2> free, tick a_done, tick b_done) {
    if (i == a.size() && j == b.size()) {
      best = std::min(best, std::max(a_done, b_done));
      return;
    }
    auto const run = [&](pass_part const& part, tick& done, std::array<tick, 2>& now) {
      if (part.duration == 0) return;  // needs no resource
      tick& resource = now[part.on == part_resource::exchange ? 1 : 0];
      done = std::max(resource, done) + part.duration;
      resource = done;
    };
    if (i < a.size()) {
      auto now = free;
      tick done = a_done;
      run(a[i], done, now);
      from(i + 1, j, now, done, b_done);
    }
    if (j < b.size()) {
      auto now = free;
      tick done = b_done;
      run(b[j], done, now);
      from(i, j + 1, now, a_done, done);
    }
  }
};

std::vector<pass_part> random_chain(random_case::dice& d, int most) {
  std::vector<pass_part> made;
  for (int i = d.between(0, most); i > 0; --i)
    made.push_back({d.percent(50) ? part_resource::compute : part_resource::exchange,
                    d.between(d.percent(10) ? 0 : 1, 9), d.percent(30)});
  return made;
}

// Runs the parts in this order, each as early as can be.
tick time_of(std::vector<pass_part> const& a, std::vector<pass_part> const& b, braid_order const& order,
             bool delays_weights = false) {
  device_resources on;
  pass_progress first, second;
  std::size_t i = 0, j = 0;
  for (char const which : order) {
    pass_part const& part = which != 0 ? b.at(j++) : a.at(i++);
    on.run(part, part.duration, which != 0 && delays_weights, which != 0 ? second : first);
  }
  CHECK((i == a.size() && j == b.size()));
  return std::max(first.end, second.end);
}

TEST_CASE("a part takes the resource that it needs, as soon as that and its pass are free") {
  device_resources on;
  CHECK((on.free[0] == 0 && on.free[1] == 0 && pass_progress{}.ready == 0 && pass_progress{}.end == 0));
  pass_progress pass{.ready = 2};
  CHECK(on.run(pass_part{part_resource::compute}, 3, false, pass) == 2);
  CHECK((on.free[0] == 5 && on.free[1] == 0 && pass.ready == 5 && pass.end == 5));
  CHECK(on.run(pass_part{part_resource::exchange}, 4, false, pass) == 5);
  CHECK((on.free[0] == 5 && on.free[1] == 9 && pass.ready == 9));
}

TEST_CASE("the order of a braid takes its time") {
  int best_differs = 0;
  FOR_SEEDS(2000) {
    CAPTURE(seed);
    std::vector<pass_part> const a = random_chain(d, 8), b = random_chain(d, 8);
    for (braiding const how : {braiding::best, braiding::in_turn, braiding::in_turn_delayed})
      CHECK(time_of(a, b, order_of_pair(a, b, how), how == braiding::in_turn_delayed)
            == braided(a, b, how));
    best_differs += order_of_pair(a, b, braiding::best) != order_of_pair(a, b, braiding::in_turn);
  }
  CHECK(best_differs > 500);
}

TEST_CASE("the best alternation is the best of all orders") {
  int shorter = 0;
  FOR_SEEDS(2000) {
    CAPTURE(seed);
    std::vector<pass_part> const a = random_chain(d, 6), b = random_chain(d, 6);
    all_orders every{a, b};
    every.from(0, 0, {0, 0}, 0, 0);
    tick const best = best_braid(a, b);
    CHECK(best == every.best);
    CHECK(best_braid(b, a) == best);
    CHECK(best >= std::max(duration_of(a), duration_of(b)));
    CHECK(best <= duration_of(a) + duration_of(b));
    CHECK(best <= braid_in_turn(a, b, false));
    CHECK(braid_in_turn(a, b, true) <= duration_of(a) + duration_of(b));
    shorter += best < duration_of(a) + duration_of(b);
  }
  CHECK(shorter > 500);
}

// Attention, dispatch, experts, combine, and back, by hand.
TEST_CASE("a layer of experts in the order of Megatron-Core") {
  std::vector<pass_part> const forward{computes(4), exchanges(3), computes(5), exchanges(3)},
      backward{exchanges(3), computes(5), computes(5, true),
               exchanges(3), computes(4), computes(4, true)};
  // exchange: combine B 0-3, dispatch F 4-7, dispatch B 14-17, combine F 19-22
  // compute:  attention F 0-4, experts B 4-9, their weights 9-14, experts F 14-19, attention B 19-27
  CHECK(braid_in_turn(forward, backward, false) == 27);
  // With delays, the dispatch of the backward need not wait for the weights, 9-12.
  CHECK(braid_in_turn(forward, backward, true) == 27);
  CHECK(best_braid(forward, backward) == 27);  // computing alone takes as long
  CHECK(duration_of(forward) + duration_of(backward) == 15 + 24);
  // Delayed parts hide a long exchange.
  std::vector<pass_part> const slow{exchanges(9), computes(2), computes(8, true),
                                    exchanges(9), computes(2), computes(2, true)};
  std::vector<pass_part> const none;
  CHECK(braid_in_turn(none, slow, false) == duration_of(slow));
  CHECK(braid_in_turn(none, slow, true) == 9 + 2 + 9 + 2 + 2);
  // A weight pass takes turns part by part.
  std::vector<pass_part> const weights{computes(5, true), computes(4, true)};
  // compute: 5 of weights, 4 of attention, 4 of weights, 5 of experts; the dispatch 9-12 is hidden
  CHECK(braid_in_turn(forward, weights, false) == 5 + 4 + 4 + 5 + 3);
  CHECK(best_braid(forward, weights) == 4 + 5 + 5 + 4);
}

TEST_CASE("in turn, a run ends where the resource changes and between parts of weights") {
  std::vector<pass_part> const forward{computes(4), exchanges(3), computes(5), exchanges(3)},
      backward{exchanges(3), computes(5), computes(5, true), computes(2, true), exchanges(3)};
  // Combine, attention, experts with weights, dispatch, further weights, experts, dispatch, combine.
  CHECK(order_in_turn(forward, backward) == braid_order{1, 0, 1, 1, 0, 1, 0, 1, 0});
  CHECK(order_of_pair(forward, backward, braiding::in_turn_delayed) == order_in_turn(forward, backward));
  CHECK(order_in_turn(forward, {}) == braid_order{0, 0, 0, 0});
}

TEST_CASE("a part that takes no time waits for no resource, in any order") {
  std::vector<pass_part> const none{exchanges(0), computes(1)}, slow{exchanges(9)};
  CHECK(braid_in_turn(none, slow, false) == 9);  // what computes begins at 0
  CHECK(best_braid(none, slow) == 9);
}

static_assert(best_braid({computes(3), exchanges(3)}, {exchanges(3), computes(3)}) == 6);
static_assert(best_braid({computes(3), exchanges(3)}, {computes(3), exchanges(3)}) == 9);
static_assert(braided({computes(3), exchanges(3)}, {exchanges(3), computes(3)}, braiding::in_turn) == 6);

TEST_CASE("times out of range stay out of range") {
  std::vector<pass_part> const endless{computes(max_tick), exchanges(max_tick)};
  CHECK(best_braid(endless, endless) >= max_tick);
  CHECK(braid_in_turn(endless, endless, false) >= max_tick);
}

}  // namespace
