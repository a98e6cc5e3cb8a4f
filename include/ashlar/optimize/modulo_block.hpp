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
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// The passes of a micro-batch repeat, or of a sequence in chunks. A period's turns on a device, which
// are its passes and the time left over, give every pass its moment modulo the period; it runs at the
// first such moment when its inputs are there. A recompute comes right before its backward.
class modulo_block {
 public:
  struct turns {
    std::vector<int> order;  // passes by number, none for the time left over
    tick first = 0;          // when the first turn begins
  };

  // Made for schedules with has_delay_blocks(); `period` is at least least_period(). Throws as
  // precedence_graph does.
  modulo_block(schedule const& s, memory_limit const& limit, tick period);

  tick period() const { return period_; }
  std::size_t pass_count() const { return passes_.what.size(); }
  std::vector<turns> const& devices() const { return devices_; }

  // Sets the order and the first moment of a device's turns; the order is a permutation of the old one.
  void set(std::size_t device, turns const& t) {
    devices_[device] = t;
    place_passes(device);
  }

  // The cost, to be minimised: the longest time for which a device has passes of one micro-batch, and
  // the mean of that; a period for every activation too many. O(passes).
  tick cost();

  // The activations that all devices hold beyond their room, together, rounded up; after cost().
  tick too_many() const;

  // The time when a pass of the whole schedule runs, counted from any moment; after cost().
  tick start_of(pass what) const {
    int const x = number_.at(what.micro_batch % chunks_, what.stage, result_of(what.kind));
    return nth(start_, x) + what.micro_batch / chunks_ * period_;
  }

 private:
  static constexpr tick parts = 16;  // of an activation, in which excess is counted

  struct need {
    int pass;
    tick transfer;
  };

  void find_needs(schedule const& s);

  // Orders forwards down the chain, backwards up again, the chunks of a sequence in turn and then in
  // reverse.
  void find_sequence(int stage_count);

  void place_passes(std::size_t device);

  tick ready(int x) const;

  void run();

  // The memory of a device above its room at the peak, in parts of its largest activation.
  tick excess(std::size_t d) const;

  tick period_;
  int chunks_;  // of a sequence
  precedence_graph passes_;
  std::vector<std::vector<need>> needs_;
  std::vector<tick> moment_, start_;  // by pass
  result_table<int> number_;
  std::vector<int> sequence_;  // every pass after its inputs
  std::vector<turns> devices_;
  std::vector<byte_count> room_, unit_;  // by device
  std::vector<tick> left_;
};

// No modulo block of these passes has a shorter period: the busiest device's work.
inline tick least_period(schedule const& s) { return max_of<tick>(work_of_sequence(s), 1); }

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/optimize/modulo_block.ipp>
#endif
