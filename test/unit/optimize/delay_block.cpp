#include <ashlar/optimize/delay_block.hpp>
// The header above comes first: it needs nothing before it.
#include "random.hpp"
#include "shapes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

using namespace shapes;

namespace {

// A device's orders.
std::vector<pass> ordered(schedule const& s, std::vector<delay_block> const& tracks,
                          std::size_t device) {
  precedence_graph const net(s, chunk_activations(100).memory);
  std::vector<pass> found;
  precedence_graph::device_orders const orders = orders_of_blocks(tracks, s, net);
  for (int x : orders[device]) found.push_back(net.what[static_cast<std::size_t>(x)]);
  return found;
}

TEST_CASE("every number has its place") {
  delay_block b(3, 7);
  CHECK((b.period == 7 && b.size() == 15 && b.turn.size() == 5));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = 100 + static_cast<tick>(i);
  CHECK(b.period == 100);
  CHECK(b.forward_hop == std::vector<tick>{101, 102, 103});
  CHECK(b.backward_hop == std::vector<tick>{104, 105, 106});
  CHECK(b.turn == std::vector<tick>{107, 108, 109, 110, 111});
  CHECK(b.weight == std::vector<tick>{112, 113, 114});
}

TEST_CASE("a leg ends where a device would come again") {
  using legs = std::vector<std::size_t>;
  CHECK(std::ranges::equal(legs_of(linear(devices{3})), legs{0, 0, 0}));
  CHECK(std::ranges::equal(legs_of(v_shape(devices{3})), legs{0, 0, 0, 1, 1, 1}));
  CHECK(std::ranges::equal(legs_of(looped(devices{2}, chunks{3})), legs{0, 0, 1, 1, 2, 2}));
  CHECK(std::ranges::equal(legs_of(wave(devices{2}, waves{2})), legs{0, 0, 1, 1, 2, 2, 3, 3}));
  CHECK(std::ranges::equal(legs_of(placement(devices{3}, {{0, 2, 1, 1, 0, 2, 1}})),
                           legs{0, 0, 0, 1, 1, 1, 2}));
  CHECK(std::ranges::equal(legs_of(linear(devices{1})), legs{0}));
}

TEST_CASE("the orders are those of blocks that repeat") {
  schedule const s = one_f_one_b(2, 3);
  delay_block b(1, work_of_one(s));
  CHECK(b.period == 3);
  CHECK(ordered(s, {b}, 0)
        == std::vector<pass>{{F, 0, 0}, {F, 0, 1}, {B, 0, 0}, {F, 0, 2}, {B, 0, 1}, {B, 0, 2}});
  CHECK(ordered(s, {b}, 1)
        == std::vector<pass>{{F, 1, 0}, {B, 1, 0}, {F, 1, 1}, {B, 1, 1}, {F, 1, 2}, {B, 1, 2}});
  delay_block late = b;
  late.turn[0] = 7;  // backwards so late that all forwards are before them
  std::vector<pass> const all_first{{F, 0, 0}, {F, 0, 1}, {F, 0, 2}, {B, 0, 0}, {B, 0, 1}, {B, 0, 2}};
  CHECK(ordered(s, {late}, 0) == all_first);
  late.period = 50;  // only the first track's counts
  // Every other micro-batch is late: its backward comes with that of the next.
  CHECK(ordered(s, {b, late}, 0)
        == std::vector<pass>{{F, 0, 0}, {F, 0, 1}, {B, 0, 0}, {F, 0, 2}, {B, 0, 2}, {B, 0, 1}});
}

TEST_CASE("a gradient leaves at the end of a whole backward, or of its input half") {
  schedule const s = retime(one_f_one_b(2, 1), costs(stage_cost{3, 4, 2}, 1));
  dynamic_array<std::size_t> const leg = legs_of(s.where);
  delay_block b(1, 9);
  for (std::size_t i = 1; i < b.size(); ++i) b[i] = 0;
  offsets_of_stages const whole(b, leg, s, true), split(b, leg, s, false);
  CHECK((whole.forward == std::vector<tick>{0, 4} && split.forward == whole.forward));
  CHECK((whole.backward == std::vector<tick>{7 + 6 + 1, 7}
         && split.backward == std::vector<tick>{7 + 4 + 1, 7}));
  CHECK(split.weight == std::vector<tick>{12 + 4, 7 + 4});
}

TEST_CASE("sequences go back in reverse, recomputes come before backwards") {
  schedule s = one_f_one_b(1, 4);
  s.graph = in_sequence_chunks(s.graph, 2);
  delay_block b(1, 2);
  CHECK((turn_of({F, 0, 2}, 2) == 2 && turn_of({F, 0, 3}, 2) == 3));
  CHECK((turn_of({B, 0, 3}, 2) == 3 && turn_of({B, 0, 2}, 2) == 4 && turn_of({W, 0, 0}, 2) == 2));
  CHECK((turn_of({I, 0, 0}, 4) == 6 && turn_of({I, 0, 3}, 4) == 3 && turn_of({I, 0, 7}, 1) == 7));
  CHECK(ordered(s, {b}, 0)
        == std::vector<pass>{
            {F, 0, 0}, {F, 0, 1}, {B, 0, 1}, {F, 0, 2}, {B, 0, 0}, {F, 0, 3}, {B, 0, 3}, {B, 0, 2}});
  schedule const again = recompute(one_f_one_b(1, 2), {0});
  CHECK(ordered(again, {b}, 0)
        == std::vector<pass>{{F, 0, 0}, {R, 0, 0}, {B, 0, 0}, {F, 0, 1}, {R, 0, 1}, {B, 0, 1}});
}

TEST_CASE("the work of the busiest device") {
  CHECK(work_of_one(one_f_one_b(3, 2)) == 3);
  schedule s = catalog::v_half(devices{2}) | repeat(micro_batches{1});
  CHECK(work_of_one(s) == 6);
  s.cost = costs(std::vector<stage_cost>{{1, 1, 1}, {5, 5, 5}, {1, 1, 1}, {2, 2, 2}}, 0);
  CHECK(work_of_one(s) == 18);  // stages 1 and 2
  CHECK(work_of_one(recompute(s, {2})) == 18 + 1);
}

TEST_CASE("the work of a sequence whose chunks differ") {
  schedule s = one_f_one_b(2, 4);
  s.graph = in_sequence_chunks(s.graph, 2);
  s.cost.passes =
      pass_costs::by_stage_and_sequence_chunk({{1, 1, 1}, {2, 3, 1}, {1, 2, 2}, {4, 5, 1}}, 2);
  CHECK((work_of_sequence(s) == 15 && work_of_one(s) == 8));
  CHECK((mean_length(s, F, 0, 0) == 2 && mean_length(s, B, 1, 1) == 5 && mean_length(s, I, 0, 0) == 2));
  s.cost = costs(stage_cost{2, 3, 4});
  CHECK((work_of_sequence(s) == 18 && work_of_one(s) == 9 && mean_length(s, F, 1, 1) == 2));
}

TEST_CASE("one micro-batch at a time") {
  schedule const s =
      catalog::v_half(devices{2}) | repeat(micro_batches{3})
      | retime(costs(std::vector<stage_cost>{{3, 4, 2}, {1, 1, 9}, {2, 2, 2}, {1, 5, 1}}, 2));
  delay_block const b = one_at_a_time(s);
  // Forwards and two transfers, three backwards and one; the weight pass of stage 1 is then the last.
  CHECK(b.period == 7 + 2 * 2 + (5 + 2 + 1) + 2 + 9);
  for (std::size_t d = 0; d < 2; ++d) {
    std::vector<pass> const order = ordered(s, {b}, d);
    for (std::size_t i = 0; i + 1 < order.size(); ++i)
      CHECK(order[i].micro_batch <= order[i + 1].micro_batch);
  }
}

// The starts of a micro-batch's passes, listed pass by pass along its way: down two legs of three stages
// and back.
TEST_CASE("the orders sort the starts along the way of a micro-batch") {
  schedule const s =
      catalog::v_half(devices{3}) | repeat(micro_batches{4}) | retime(costs(stage_cost{3, 4, 2}, 1));
  precedence_graph const net(s, chunk_activations(100).memory);
  FOR_SEEDS(200) {
    delay_block b(2, 1);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = d.between(i == 0 ? 9 : 0, i == 0 ? 17 : 8);
    tick const hop = 1, f = 3, i = 4;
    std::vector<tick> const gaps{b.forward_hop[0] + hop,  b.forward_hop[0] + hop,  b.turn[0],
                                 b.forward_hop[1] + hop,  b.forward_hop[1] + hop,  b.turn[1],
                                 b.backward_hop[1] + hop, b.backward_hop[1] + hop, b.turn[2],
                                 b.backward_hop[0] + hop, b.backward_hop[0] + hop};
    std::vector<tick> start{0};
    for (std::size_t at = 0; at < gaps.size(); ++at)
      start.push_back(start.back() + (at < 6 ? f : i) + gaps[at]);
    auto const start_of = [&](int x) {
      pass const what = net.what[static_cast<std::size_t>(x)];
      auto const stage = static_cast<std::size_t>(what.stage);
      tick const back = start[11 - stage];
      tick const at = what.kind == F   ? start[stage]
                      : what.kind == I ? back
                                       : back + i + b.weight[stage / 3];
      return std::pair(at + what.micro_batch * b.period, x);
    };
    precedence_graph::device_orders const orders = orders_of_blocks({b}, s, net);
    for (std::size_t device = 0; device < 3; ++device) {
      CHECK(orders[device].size() == 6 * 4);
      CHECK(std::is_sorted(orders[device].begin(), orders[device].end(),
                           [&](int x, int y) { return start_of(x) < start_of(y); }));
    }
  }
}

}  // namespace
