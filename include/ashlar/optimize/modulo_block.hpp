// A building block with an offset for every pass, as short a period as the devices' work allows, and no
// collisions: a modulo schedule (Rau, Iterative modulo scheduling, 1994).
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/model/dependencies.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/optimize/delay_block.hpp>
#include <ashlar/optimize/precedence_graph.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// What repeats is the passes of a micro-batch, or of a sequence in chunks. A period's turns on a device,
// which are its passes and the time left over, give every pass its moment modulo the period; it runs at
// the first such moment when what it needs is there. A recompute comes right before its backward.
class modulo_block {
 public:
  struct turns {
    std::vector<int> order;  // passes by number, nobody for the time left over
    tick first = 0;          // when the first turn begins
  };

  // For schedules with has_delay_blocks(); `period` is at least least_period(). Throws as
  // precedence_graph does.
  constexpr modulo_block(schedule const& s, memory_limit const& limit, tick period)
      : period_(period),
        chunks_(s.graph.sequence_chunks()),
        passes_(take(s, micro_batches{chunks_}), limit.memory),
        needs_(passes_.what.size()),
        moment_(passes_.what.size(), 0),
        start_(moment_),
        number_(s.stage_count(), chunks_, precedence_graph::nobody) {
    find_needs(s);
    find_sequence(s.stage_count());
    for (std::size_t d = 0; d < passes_.orders.size(); ++d) {
      devices_.push_back({passes_.orders[d], 0});
      room_.push_back(limit.free_on(s.where, static_cast<int>(d)));
      tick left = period_;
      unit_.push_back(1);
      for (int x : passes_.orders[d]) {
        left -= nth(passes_.length, x);
        unit_[d] = max_of(unit_[d], nth(passes_.takes, x));
      }
      left_.push_back(left);
      if (left > 0) devices_[d].order.push_back(precedence_graph::nobody);
    }
    for (std::size_t d = 0; d < devices_.size(); ++d) settle(d);
  }

  constexpr tick period() const { return period_; }
  constexpr std::size_t pass_count() const { return passes_.what.size(); }
  constexpr std::vector<turns> const& devices() const { return devices_; }

  // The order and the first moment of a device's turns; the order has what it had.
  constexpr void set(std::size_t device, turns const& t) {
    devices_[device] = t;
    settle(device);
  }

  // Small is good: how long the device that is busy longest has passes of one micro-batch, and the mean
  // of that; a period for every activation too many. O(passes).
  constexpr tick cost() {
    run();
    tick longest = 0, sum = 0, too_many = 0;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      tick first = max_tick, last = 0;
      for (int x : passes_.orders[d]) {
        first = min_of(first, nth(start_, x));
        last = max_of(last, nth(start_, x) + nth(passes_.length, x));
      }
      if (passes_.orders[d].empty()) continue;
      longest = max_of(longest, last - first);
      sum += last - first;
      too_many = saturating_sum(too_many, excess(d));
    }
    tick const mean = sum / static_cast<tick>(devices_.size());
    return saturating_sum(longest + mean, saturating_product(too_many, period_) / parts);
  }

  // How many activations more than there is room for all devices hold together, rounded up; after
  // cost().
  constexpr tick too_many() const {
    tick sum = 0;
    for (std::size_t d = 0; d < devices_.size(); ++d) sum = saturating_sum(sum, excess(d));
    return sum / parts + (sum % parts > 0 ? 1 : 0);
  }

  // When a pass of the whole schedule runs, counted from any moment; after cost().
  constexpr tick start_of(pass what) const {
    int const x = number_.at(what.micro_batch % chunks_, what.stage, result_of(what.kind));
    return nth(start_, x) + what.micro_batch / chunks_ * period_;
  }

 private:
  static constexpr tick parts = 16;  // of an activation, in which excess is counted

  struct need {
    int pass;
    tick transfer;
  };

  constexpr void find_needs(schedule const& s) {
    for (std::size_t x = 0; x < pass_count(); ++x) {
      pass const what = passes_.what[x];
      number_.at(what.micro_batch, what.stage, result_of(what.kind)) = static_cast<int>(x);
      for (int const y : passes_.needs[x])
        needs_[x].push_back({y, s.cost.transfer(nth(passes_.device, y), passes_.device[x])});
    }
  }

  // Forwards down the chain, backwards up again, the chunks of a sequence in turn and then in reverse.
  constexpr void find_sequence(int stage_count) {
    for (int k = 0; k < chunks_; ++k)
      for (int stage = 0; stage < stage_count; ++stage)
        sequence_.push_back(number_.at(k, stage, result::activation));
    for (int k = chunks_ - 1; k >= 0; --k)
      for (int stage = stage_count - 1; stage >= 0; --stage)
        for (result const r : {result::recomputed, result::input_gradient, result::weight_gradient}) {
          int const x = number_.at(k, stage, r);
          if (x != precedence_graph::nobody) sequence_.push_back(x);
        }
  }

  constexpr void settle(std::size_t device) {
    tick t = devices_[device].first;
    for (int x : devices_[device].order) {
      if (x != precedence_graph::nobody) nth(moment_, x) = t;
      t += x == precedence_graph::nobody ? left_[device] : nth(passes_.length, x);
    }
  }

  constexpr tick ready(int x) const {
    tick t = 0;
    for (need const& n : nth(needs_, x))
      t = max_of(t, nth(start_, n.pass) + nth(passes_.length, n.pass) + n.transfer);
    return t;
  }

  constexpr void run() {
    for (int const x : sequence_) {
      tick t = ready(x);
      if (nth(passes_.what, x).kind == pass_kind::recompute) {
        nth(start_, x) = t - nth(passes_.length, x);  // at the earliest, for now
        pass const what = nth(passes_.what, x);
        t = max_of(t, ready(number_.at(what.micro_batch, what.stage, result::input_gradient))
                          - nth(passes_.length, x));
      }
      nth(start_, x) = t + floor_remainder(nth(moment_, x) - t, period_);
    }
  }

  // Of the most that a device holds, what is above its room, in parts of its largest activation.
  constexpr tick excess(std::size_t d) const {
    byte_count held = 0, most = 0;
    for (int x : passes_.orders[d]) {
      tick const before = -floor_quotient(nth(start_, x) - devices_[d].first, period_);
      held += (nth(passes_.takes, x) - nth(passes_.gives, x)) * before;
    }
    for (int x : devices_[d].order) {
      if (x == precedence_graph::nobody) continue;
      held += nth(passes_.takes, x);
      most = max_of(most, held);
      held -= nth(passes_.gives, x);
    }
    return most > room_[d] ? saturating_product(most - room_[d], parts) / unit_[d] : 0;
  }

  tick period_;
  int chunks_;  // of a sequence
  precedence_graph passes_;
  std::vector<std::vector<need>> needs_;
  std::vector<tick> moment_, start_;  // by pass
  result_table<int> number_;
  std::vector<int> sequence_;  // every pass after what it needs
  std::vector<turns> devices_;
  std::vector<byte_count> room_, unit_;  // by device
  std::vector<tick> left_;
};

// No modulo block of these passes has a shorter period: the busiest device's work.
constexpr tick least_period(schedule const& s) { return max_of<tick>(work_of_sequence(s), 1); }

}  // namespace ashlar
