// Finds the block nearest to given offsets whose passes do not collide.
#pragma once

#include <ashlar/block/algebra.hpp>
#include <ashlar/block/check.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/pipe.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/dependencies.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

namespace block_detail {

// Moves the cells of a block until none collides and none starts before its inputs: branch and bound
// over the cells, inputs first and then by target. The change is the sum of the moves of all cells, in
// ticks.
class offset_repair {
 public:
  // Refers to the block. Each of its passes is there once, and every device's work fits the interval.
  constexpr offset_repair(block const& wishes, int most_steps)
      : b_(wishes), n_(wishes.cells.size()), steps_left_(most_steps) {
    find_inputs();
    find_order();
    at_.assign(n_, 0);
    pack();
    best_ = at_;
    best_change_ = change();
    if (take_nearest() && change() < best_change_) {
      best_ = at_;
      best_change_ = change();
    }
    descend(0, 0);
  }

  constexpr std::vector<tick> const& offsets() const { return best_; }

 private:
  struct input {
    std::size_t from;
    tick lag;  // from its start to the earliest start of what needs it
  };

  constexpr tick target(std::size_t c) const { return b_.cells[c].offset; }
  constexpr tick length(std::size_t c) const { return b_.length_of(b_.cells[c].what); }
  constexpr int device(std::size_t c) const { return b_.device_of(b_.cells[c].what); }
  static constexpr tick distance(tick a, tick b) { return a > b ? a - b : b - a; }

  constexpr tick change() const {
    tick sum = 0;
    for (std::size_t c = 0; c < n_; ++c) sum = saturating_sum(sum, distance(at_[c], target(c)));
    return sum;
  }

  constexpr void find_inputs() {
    result_table<int> makers(b_.where.stage_count(), b_.micro_batch_count(), -1);
    for (std::size_t c = 0; c < n_; ++c) {
      pass const what = b_.cells[c].what;
      makers.at(what.micro_batch, what.stage, result_of(what.kind)) = static_cast<int>(c);
    }
    inputs_.resize(n_);
    for (std::size_t c = 0; c < n_; ++c)
      for_each_input(b_.graph, b_.cells[c].what, [&](result r, int stage, int micro_batch) {
        int const maker = makers.at(micro_batch, stage, r);
        if (maker < 0) return;
        auto const from = static_cast<std::size_t>(maker);
        inputs_[c].push_back({from, length(from) + b_.cost.transfer(device(from), device(c))});
      });
  }

  constexpr void find_order() {
    std::vector<char> done(n_, 0);
    while (order_.size() < n_) {
      std::size_t next = n_;
      for (std::size_t c = 0; c < n_; ++c) {
        bool ready = done[c] == 0 && (next == n_ || target(c) < target(next));
        for (input const& i : inputs_[c]) ready = ready && done[i.from] != 0;
        if (ready) next = c;
      }
      done[next] = 1;
      order_.push_back(next);
    }
  }

  // A cell without inputs may start at any time, no matter where its target is.
  constexpr bool has_earliest(std::size_t c) const { return !inputs_[c].empty(); }
  constexpr tick earliest(std::size_t c) const {
    tick t = -max_tick;
    for (input const& i : inputs_[c]) t = max_of(t, at_[i.from] + i.lag);
    return t;
  }

  // A cell that is in the way at `start`, among those placed before the k-th of the order; n_ if there
  // is none.
  constexpr std::size_t blocker(std::size_t k, tick start) const {
    std::size_t const c = order_[k];
    tick const own = length(c);
    for (std::size_t i = 0; i < k; ++i) {
      std::size_t const other = order_[i];
      if (device(other) != device(c)) continue;
      tick const gap = floor_remainder(at_[other] - start, b_.interval);
      bool const begins_within = gap < own && (gap > 0 || length(other) > 0);
      if (begins_within || gap + length(other) > b_.interval) return other;
    }
    return n_;
  }

  // Places cells one after the other on each device, as near to the wishes as inputs allow: there is
  // always room.
  constexpr void pack() {
    std::vector<tick> taken(static_cast<std::size_t>(b_.where.device_count()), 0);
    for (std::size_t c : order_) {
      tick& phase = nth(taken, device(c));
      tick const from = max_of(earliest(c), target(c) - b_.interval / 2);
      at_[c] = from + floor_remainder(phase - from, b_.interval);
      phase += length(c);
    }
  }

  // Places each cell at the free time nearest to its target that its inputs allow; false if the gaps
  // that are left are too short.
  constexpr bool take_nearest() {
    for (std::size_t k = 0; k < n_; ++k) {
      std::size_t const c = order_[k];
      tick const first = max_of(target(c), earliest(c));
      tick later = first, sooner = target(c);
      for (std::size_t other = blocker(k, later); other != n_; other = blocker(k, later)) {
        later = behind(other, later);
        if (later >= first + b_.interval) return false;
      }
      for (std::size_t other = blocker(k, sooner); other != n_ && sooner >= earliest(c);
           other = blocker(k, sooner)) {
        tick const step = floor_remainder(sooner + length(c) - at_[other], b_.interval);
        sooner -= step == 0 ? b_.interval : step;
      }
      bool const back = sooner >= earliest(c) && target(c) - sooner <= later - target(c);
      at_[c] = back ? sooner : later;
    }
    return true;
  }
  constexpr tick behind(std::size_t other, tick start) const {
    tick const step = floor_remainder(at_[other] + length(other) - start, b_.interval);
    return start + (step == 0 ? b_.interval : step);
  }

  // How far the cells from the k-th on have to move because of those placed before.
  constexpr tick forced(std::size_t k) {
    soonest_.assign(n_, -max_tick);
    tick sum = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      std::size_t const c = order_[i];
      if (i < k) {
        soonest_[c] = at_[c];
        continue;
      }
      for (input const& from : inputs_[c])
        if (soonest_[from.from] != -max_tick)
          soonest_[c] = max_of(soonest_[c], soonest_[from.from] + from.lag);
      if (soonest_[c] > target(c)) sum += soonest_[c] - target(c);
    }
    return sum;
  }

  constexpr void descend(std::size_t k, tick so_far) {
    if (k == n_) {
      best_ = at_;
      best_change_ = so_far;
      return;
    }
    std::size_t const c = order_[k];
    tick const least = has_earliest(c) ? earliest(c) : -max_tick;
    for (tick by = max_of<tick>(least - target(c), 0); so_far + by < best_change_; ++by)
      for (tick const start : {target(c) - by, target(c) + by}) {
        if (steps_left_ <= 0) return;
        if (start < least) continue;
        --steps_left_;
        if (blocker(k, start) == n_) {
          at_[c] = start;
          if (so_far + by + forced(k + 1) < best_change_) descend(k + 1, so_far + by);
        }
        if (by == 0) break;
      }
  }

  block const& b_;
  std::size_t n_;
  int steps_left_;
  std::vector<std::vector<input>> inputs_;
  std::vector<std::size_t> order_;
  std::vector<tick> at_, best_, soonest_;
  tick best_change_ = 0;
};

}  // namespace block_detail

// The block without collisions whose offsets are nearest to those given. The sum of all changes is the
// smallest possible if `most_steps` are enough to know that, which they mostly are for a dozen passes;
// otherwise it is the smallest found. Among equals, the first in a fixed order is returned. Passes that
// start before their inputs are moved, too. A block that is right stays as it is. O(n^2 + n *
// most_steps) for n passes. Throws violation as check(block) says, except for these two rules;
// {rule::ticks_fit} for offsets and intervals near the limit; {rule::parameter_is_at_least, interval}
// with the work of a device that is more than the interval: then, and only then, there is no such block.
constexpr block without_collisions(block b, int most_steps = 4000) {
  diagnosis const d = check(b);
  if (d.ok()) return b;
  if (d.broken != rule::no_pass_starts_before_its_input && d.broken != rule::passes_do_not_collide)
    refuse(d);
  std::vector<tick> work(static_cast<std::size_t>(b.where.device_count()), 0);
  tick latest = 0;  // an offset far apart, and all cells a period and a message after each other
  for (cell const& c : b.cells) latest = max_of(latest, c.offset < 0 ? -c.offset : c.offset);
  tick transfer = 0;
  for_each_link(b.cost.on.links,
                [&](link_speed const& l) { transfer = max_of(transfer, l.time_of(b.cost.message)); });
  latest = saturating_sum(latest, saturating_product(saturating_sum(2 * b.interval, transfer),
                                                     static_cast<tick>(b.cells.size())));
  if (latest >= max_tick) refuse({.broken = rule::ticks_fit, .number = b.interval});
  for (cell const& c : b.cells) nth(work, b.device_of(c.what)) += b.length_of(c.what);
  for (std::size_t device = 0; device < work.size(); ++device)
    if (work[device] > b.interval)
      refuse({.broken = rule::parameter_is_at_least,
              .first = {.device = static_cast<int>(device)},
              .number = work[device],
              .which = parameter::block_interval,
              .given = b.interval});
  std::vector<tick> const offsets = block_detail::offset_repair(b, most_steps).offsets();
  for (std::size_t c = 0; c < offsets.size(); ++c) b.cells[c].offset = offsets[c];
  return b;
}

constexpr auto without_collisions() {
  return closure([](auto&& b) { return without_collisions(std::forward<decltype(b)>(b)); });
}

}  // namespace ashlar
