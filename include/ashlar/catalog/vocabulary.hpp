// 1F1B with an output layer whose vocabulary is split over all devices. Yeung, Qi, Lin, Wan: Balancing
// Pipeline Parallelism with Vocabulary Parallelism (2024); the interlaced pipeline: Lin et al., nnScaler
// (2024).
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/core/pass_costs.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/model/stage_graph.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace ashlar::catalog {

// A chain of `count` stages, and after its last one the shards of one layer. Throws violation as
// stage_graph does, rule::parameter_is_at_least for fewer than no stages, rule::parameter_is_at_most for
// more than most_stages.
constexpr stage_graph chain_with_shards(stages count, int shards,
                                        shard_gradient gradients = shard_gradient::of_backward) {
  must_be(at_least(parameter::stage_count, count.value, 0));
  must_be(at_most(parameter::stage_count, std::int64_t{count.value} + shards, most_stages));
  std::vector<stage_edge> edges;
  for (int s = 0; s + 1 < count.value; ++s) edges.push_back({s, s + 1});
  std::vector<int> layer;
  for (int s = count.value; s < count.value + shards; ++s) {
    edges.push_back({count.value - 1, s});
    layer.push_back(s);
  }
  return in_shards(stage_graph(stages{count.value + shards}, edges), {layer}, gradients);
}

// Stages 0 .. p-1 are a chain. Stages p .. 2p-1 are the shards of the output layer, all after stage p-1:
// the forward of a shard is the pass S of the paper, its backward the pass T. With two barriers, T gives
// the gradient of the input; with one, S does, so stage p-1 goes back without waiting for T.
constexpr stage_graph vocabulary_graph(devices p,
                                       shard_gradient gradients = shard_gradient::of_backward) {
  int const count = stages_of(p, 2).value / 2;
  return chain_with_shards(stages{count}, count, gradients);
}

// The durations of the passes of a block: those of each stage of the chain, and those of each shard.
struct vocabulary_costs {
  stage_cost stage = {};
  stage_cost shard = {};

  constexpr tick forward() const { return stage.forward; }
  constexpr tick backward() const { return stage.of(pass_kind::backward); }
  constexpr tick s() const { return shard.forward; }
  constexpr tick t() const { return shard.of(pass_kind::backward); }
  constexpr tick turn() const { return forward() + backward() + s() + t(); }
};

// The longest passes of each kind among costs of stages and micro-batches; where none takes time, the
// usual ones, so that offsets tell an order. Throws violation{rule::tables_agree} unless all stages are
// alike or there are 2p, which are at least 2 (rule::parameter_is_at_least) and at most
// most_stages (rule::parameter_is_at_most).
constexpr vocabulary_costs longest_passes(devices p, pass_costs const& cost) {
  must_be(at_least(parameter::device_count, p.value, 1));
  must_be(at_most(parameter::device_count, p.value, most_stages / 2));
  if (int const stages = cost.stages(); stages != 0 && stages != 2 * p.value)
    refuse(wrong_size(table::stage_costs, stages, 2 * p.value));
  vocabulary_costs most{stage_cost::nothing(), stage_cost::nothing()};
  for (int s = 0; s < 2 * p.value; ++s)
    for (int k = 0; k < cost.period(); ++k) {
      stage_cost &to = s < p.value ? most.stage : most.shard, own = cost.of(s, k);
      to.forward = max_of(to.forward, own.forward);
      to.backward_input = max_of(to.backward_input, own.backward_input);
      to.backward_weight = max_of(to.backward_weight, own.backward_weight);
    }
  bool const is_instant = most.stage == stage_cost::nothing() && most.shard == stage_cost::nothing();
  return is_instant ? vocabulary_costs{} : most;
}

namespace vocabulary_detail {

// Times of zero ticks or more, of which some is not zero, and offsets on p devices within the range of
// ticks.
constexpr void must_be_counted(devices p, vocabulary_costs const& cost) {
  tick turn = 0;
  for (stage_cost const* of : {&cost.stage, &cost.shard})
    for (tick const each : {of->forward, of->backward_input, of->backward_weight}) {
      if (each < 0) refuse({.broken = rule::no_duration_is_negative, .number = each});
      turn = saturating_sum(turn, each);
    }
  if (turn < 1) refuse({.broken = rule::counts_are_positive, .number = turn});
  if (p.value > 0 && saturating_product(turn, 4 * (tick{p.value} + 1)) == max_tick)
    refuse({.broken = rule::ticks_fit, .number = turn});
}

// A block without passes. Throws violation: rule::counts_are_positive where no pass takes time,
// rule::no_duration_is_negative, rule::ticks_fit.
constexpr block empty_block(devices p, vocabulary_costs const& cost, shard_gradient gradients) {
  must_be_counted(p, cost);
  block made{.graph = vocabulary_graph(p, gradients),
             .where = looped(p, chunks{2}),
             .route = {0},
             .cost = costs(cost.stage),
             .interval = cost.turn(),
             .cells = {}};
  if (cost.stage == cost.shard) return made;
  std::vector<stage_cost> each(static_cast<std::size_t>(2 * p.value), cost.shard);
  for (int d = 0; d < p.value; ++d) nth(each, d) = cost.stage;
  made.cost = costs(static_cast<std::vector<stage_cost>&&>(each));
  return made;
}

constexpr void add_passes(block& b, int p, int d, tick forward, tick s, tick t, tick backward) {
  b.cells.push_back({{pass_kind::forward, d, 0}, forward});
  b.cells.push_back({{pass_kind::forward, p + d, 0}, s});
  b.cells.push_back({{pass_kind::backward, p + d, 0}, t});
  b.cells.push_back({{pass_kind::backward, d, 0}, backward});
}

}  // namespace vocabulary_detail

// In each turn a device runs F, S, T, B, and each device runs F as soon as the one before it has. S of a
// micro-batch comes in the first turn of its device after the last F, and T a turn after S, when all
// devices have run S. The last device runs B when all have run T (two barriers) or S (one barrier). So
// device d holds p - d + 2 or p - d + 1 micro-batches, however long the passes are. Throws
// violation: rule::counts_are_positive where none takes time, rule::no_duration_is_negative,
// rule::ticks_fit.
constexpr block vocabulary_one_f_one_b(devices p, shard_gradient gradients, vocabulary_costs cost = {}) {
  block b = vocabulary_detail::empty_block(p, cost, gradients);
  tick const turn = cost.turn(), last_forward_ends = p.value * cost.forward(),
             barriers = gradients == shard_gradient::of_backward ? 2 : 1;
  for (int d = 0; d < p.value; ++d) {
    int const after = p.value - 1 - d;  // devices
    tick const forward = d * cost.forward();
    tick const turns = (after * cost.forward() + turn - 1) / turn;
    tick const s = forward + cost.forward() + turns * turn;
    tick const backward =
        last_forward_ends + barriers * turn + cost.s() + cost.t() + after * (turn - cost.forward());
    vocabulary_detail::add_passes(b, p.value, d, forward, s, s + cost.s() + turn, backward);
  }
  return b;
}

// The schedule for m micro-batches, in whose warm-up a device runs its forwards before it waits for the
// first output layer. Squeezed. Throws as repeat() and longest_passes() do.
constexpr schedule vocabulary_one_f_one_b(devices p, micro_batches m, shard_gradient gradients,
                                          pass_costs const& cost = {}) {
  schedule s = repeat(vocabulary_one_f_one_b(p, gradients, longest_passes(p, cost)), m);
  for (std::vector<time_slot>& order : s.order) {
    std::vector<time_slot> moved, later;
    std::size_t i = 0;
    for (; order[i].what.stage >= p.value || order[i].what.kind == pass_kind::forward; ++i)
      (order[i].what.stage < p.value ? moved : later).push_back(order[i]);
    append(moved, later);
    for (; i < order.size(); ++i) moved.push_back(order[i]);
    order = static_cast<std::vector<time_slot>&&>(moved);
  }
  return squeeze(static_cast<schedule&&>(s));
}

// All devices run the output layer at the same time, like a tensor-parallel layer, and wait at its
// barriers. Until the next turn one device runs F and B, and its neighbours B and F. So a micro-batch
// comes down two devices a turn and goes up one. Device d holds p - d + ceil((p - 1 - d) / 2)
// micro-batches, device 0 as many as 1.5 p; if a forward takes as long as a backward, fewer. Throws
// violation: rule::counts_are_positive where no pass takes time, rule::no_duration_is_negative,
// rule::ticks_fit.
constexpr block interlaced_one_f_one_b(devices p, vocabulary_costs cost = {}) {
  block b = vocabulary_detail::empty_block(p, cost, shard_gradient::of_backward);
  tick const turn = cost.turn(), s = cost.forward() + cost.backward();
  // The last device runs B and F. Each turn ends with the output layer.
  tick forward = cost.backward(), backward = turn;
  for (int d = p.value; d-- > 0;) {
    vocabulary_detail::add_passes(b, p.value, d, forward, s, s + cost.s(), backward);
    // The device before: its places in a turn, then the last one and the first one in time.
    bool const is_forward_first = (p.value - d) % 2 == 1;
    tick const f = is_forward_first ? 0 : cost.backward(), g = is_forward_first ? cost.forward() : 0;
    forward = floor_quotient(forward - cost.forward() - f, turn) * turn + f;
    backward = floor_quotient(backward + cost.backward() - g + turn - 1, turn) * turn + g;
  }
  return b;
}

}  // namespace ashlar::catalog
