// When receives are issued: with the schedule's sends, or as late as possible without delaying anything.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/lower/transfer_events.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>

namespace ashlar {

// When a device issues a receive.
enum class receive_time : unsigned char {
  when_sent,    // when the schedule has the value made: it waits no longer than it must
  when_needed,  // as late as the pass that needs it, and all that shares a lane with it, allow
};

// Times by event of a valid schedule, in their order: when the receive of a transfer is issued so late
// that in the schedule's own times nothing waits for it; other events keep their time. It then arrives
// when its pass starts, unless a later transfer on a lane of the sender or the receiver, or between the
// same devices, is to happen before. So every lane and every device keeps an order of which these times
// are a witness, and the program is as free of deadlock as with receives when values are sent. A receive
// that falls into a pass is issued before it, because a device issues nothing while it runs a pass.
// Linear in passes, and in events times the logarithm of the passes of a device.
class receive_times {
 public:
  // The lanes are those of the program that is made.
  constexpr receive_times(schedule const& s, transfer_lanes lanes)
      : s_(s),
        lanes_(lanes),
        lane_count_(static_cast<std::size_t>(transfer_lane_count(lanes, s.device_count()))),
        devices_(static_cast<std::size_t>(s.device_count())),
        next_(devices_ * lane_count_, on_lane{}),
        pair_(devices_ * devices_, max_tick) {
    auto const values = static_cast<std::size_t>(s.stage_count()) * s.route.size();
    forwards_ = dynamic_array<tick>(values, max_tick);
    backwards_ = dynamic_array<tick>(values, max_tick);
    for (auto const& order : s.order)
      for (timed_pass const t : each_pass(order)) {
        if (t.what.kind == pass_kind::forward)
          nth(forwards_, row_of(t.what)) = t.start;
        else if (gives_input_gradient(t.what.kind))
          nth(backwards_, row_of(t.what)) = t.start;
      }
  }

  // The times of all events. To be called once.
  constexpr dynamic_array<tick> of(dynamic_array<event> const& events) {
    dynamic_array<tick> times(events.size());
    for (std::size_t i = events.size(); i-- > 0;) {
      event const& e = events[i];
      times[i] = e.is_reduction() ? e.time : late(e);
    }
    return times;
  }

 private:
  // The next transfer on a lane of a device: when it is issued there, and when it happens.
  struct on_lane {
    tick issued = max_tick;
    tick happens = max_tick;
  };

  constexpr std::size_t row_of(pass p) const {
    return static_cast<std::size_t>(p.stage) * s_.route.size() + static_cast<std::size_t>(p.micro_batch);
  }
  constexpr on_lane& lane_of(int device, int peer, opcode half, pass_kind made) {
    return next_[static_cast<std::size_t>(device) * lane_count_
                 + static_cast<std::size_t>(transfer_lane_of(lanes_, peer, half, made))];
  }

  constexpr tick late(event const& e) {
    on_lane& sender = lane_of(e.source, e.target, opcode::send, e.what.kind);
    on_lane& receiver = lane_of(e.target, e.source, opcode::receive, e.what.kind);
    tick& between =
        pair_[static_cast<std::size_t>(e.source) * devices_ + static_cast<std::size_t>(e.target)];
    tick const holds = s_.cost.transfer(e.source, e.target);  // both lanes
    tick const bound = min_of(min_of(receiver.issued, sender.happens) - holds, between);
    tick const at = max_of(e.time, min_of(before_its_pass(e), bound));
    sender = {e.time, at};
    receiver = {at, at};
    between = at;
    return at;
  }

  // The time at which it arrives when the first pass that needs it starts, and not within a pass.
  constexpr tick before_its_pass(event const& e) const {
    tick needed = max_tick;
    int const k = e.what.micro_batch;
    if (e.what.kind == pass_kind::forward && e.to == e.what.stage) return e.time;  // what it keeps
    // The first of smaller micro-batches that reads it counts.
    auto const find = [&](dynamic_array<tick> const& starts, int to) {
      for_each_matching(s_.graph.size_of(e.what.stage), s_.graph.size_of(to), k, [&](int reader) {
        needed = min_of(needed, nth(starts, row_of({e.what.kind, to, reader})));
      });
    };
    if (e.what.kind == pass_kind::forward) {
      auto const& starts = s_.graph.shards_with(e.what.stage).empty() ? forwards_ : backwards_;
      for (int to : s_.graph.readers(e.what.stage))
        if (s_.where.device_of(nth(s_.route, k), to) == e.target) find(starts, to);
    } else {
      find(backwards_, e.to);
    }
    if (needed == max_tick) return e.time;
    tick const at = needed - s_.cost.transfer(e.source, e.target);
    time_slot const* const running = last_before(nth(s_.order, e.target), at);
    if (running == nullptr || s_.end_of(*running, e.target) <= at) return at;
    return running->start;
  }

  // The last pass that starts before `at`, or null.
  template <class Order>
  static constexpr time_slot const* last_before(Order const& order, tick at) {
    std::size_t low = 0, high = order.size();
    while (low < high) {
      std::size_t const middle = low + (high - low) / 2;
      if (order[middle].start < at)
        low = middle + 1;
      else
        high = middle;
    }
    return low == 0 ? nullptr : &order[low - 1];
  }

  schedule const& s_;
  transfer_lanes lanes_;
  std::size_t lane_count_, devices_;
  dynamic_array<on_lane> next_;               // by device and lane
  dynamic_array<tick> pair_;                  // by source and target: when the next happens
  dynamic_array<tick> forwards_, backwards_;  // starts, by stage and micro-batch
};

}  // namespace ashlar
