// Runs a program on timed lanes.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/program/lane_machine.hpp>
#include <ashlar/simulate/durations.hpp>
#include <ashlar/simulate/options.hpp>
#include <ashlar/simulate/timeline.hpp>
#include <ashlar/simulate/transfer_pairs.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// Every instruction starts when the last of its waits is over. Nothing depends on who is served first,
// so no queue of events is needed: a lane that has to wait is woken by the instruction that it waits
// for.
class timed_machine : public lane_machine<timed_machine> {
 public:
  // Throws violation with check_can_be_timed, and as transfer_pairs does. Waits for all hazards: a
  // receive whose latency holds no lane may end after the send after it.
  constexpr timed_machine(program const& p, simulation_options const& o)
      : lane_machine(p.view(), checked_pairs(p, o), p.view().lane_count, wait_detail::all),
        o_(o),
        graph_(p.graph),
        line_{.timed = std::vector<timed_instruction>(p.instructions.size())},
        lane_(lane_total()),
        shared_(p, o),
        program_(p.view()),
        work_(p.work.view()) {
    if (o.issue == issue_mode::in_stream) find_issued(p);
  }

  // The times of all instructions. Throws violation: rule::no_cycle_of_waits with the first instruction
  // that never starts and what it waits for, rule::ticks_fit. Linear in instructions and waits.
  constexpr timeline run() {
    if (!lane_machine::run()) refuse(wait());
    return std::move(line_);
  }

  // If nothing is unmet, sets the time since which `i` can run, and what it followed.
  constexpr int unmet_wait(int i) {
    lane_state const& lane = lane_[lane_of(i)];
    timed_instruction& self = time(i);
    self = {.start = lane.free, .cause = lane.last};
    auto const follow = [&](int other) {
      if (time(other).end <= self.start) return;
      self.start = time(other).end;
      self.cause = other;
    };
    int const hazard = unmet_hazard(i, [&](int other) {
      follow(other);
      if (code_of(other) == opcode::compute) self.made = max_of(self.made, time(other).end);
      if (code_of(other) == opcode::receive) self.made = max_of(self.made, time(other).made);
    });
    if (hazard != none) return hazard;
    if (int const other = issued_.empty() ? none : nth(issued_, i); other != none) {
      if (!is_done(other)) return other;
      follow(other);
    }
    bool const takes = code_of(i) == opcode::receive && !is_rendezvous();
    return takes && !is_done(partner(i)) ? partner(i) : none;
  }
  constexpr bool is_rendezvous() const { return o_.mode == transfer_mode::rendezvous; }

  // All start when the last can.
  constexpr void happens(int last, list_view<int> together) {
    int const first = together[0];
    bool const is_pair = at(first).overlaps_next;
    if (together.size() > 1) {
      timed_instruction all = time(last);
      for (int i : together)
        if (time(i).start > all.start) all = time(i);
      if (at(first).code == opcode::send) all.made = time(first).made;
      if (is_pair) all.made = max_of(time(first).made, time(first + 1).made);
      for (int i : together) time(i) = all;
    }
    switch (at(first).code) {
      case opcode::compute: {
        if (!is_pair) return end_after(first, time_of_pass(at(first).what, device_of(first)));
        for (int i : together)
          end_after(i, o_.cost.of_pair(at(first).what, at(first + 1).what, device_of(first)));
        return;
      }
      case opcode::send: {
        transfer_time const t = time_of_transfer(o_, at(first), device_of(first), graph_);
        end_after(first, t.held);
        if (together.size() == 1) return;
        int const receive = together[1];
        end_after(receive, t.all);
        lane_[lane_of(receive)].free = time(first).end;
        return;
      }
      case opcode::receive:
        return take(first);
      case opcode::offload:
      case opcode::reload:
        return end_after(first, time_of_copy(o_, program_, at(first), device_of(first)));
      default:
        for (int i : together) end_after(i, shared_.of(at(i)));
    }
  }

 private:
  struct lane_state {
    int last = none;  // the instruction that made it free
    tick free = 0;
  };

  constexpr tick time_of_pass(pass what, int device) const {
    return is_part(what) ? work_.duration(part_of(what)) : o_.cost.of(what, device);
  }
  static constexpr dynamic_array<int> checked_pairs(program const& p, simulation_options const& o) {
    if (diagnosis const d = check_can_be_timed(p, o); !d.ok()) refuse(d);
    return transfer_pairs(p);
  }

  constexpr void find_issued(program const& p) {
    issued_.assign(p.instructions.size(), none);
    for (int d = 0; d < p.device_count(); ++d) {
      int issued = none;
      for (int i = stream_begin(p, d); i < stream_end(p, d); ++i)
        if (at(i).code == opcode::compute)
          issued = i;
        else if (at(i).code != opcode::all_reduce)
          nth(issued_, i) = issued;
    }
  }

  constexpr timed_instruction& time(int i) { return nth(line_.timed, i); }

  // A buffered message is there, or comes; what is next on the lane need not wait while it is under way.
  constexpr void take(int i) {
    int const send = partner(i);
    transfer_time const t = time_of_transfer(o_, at(send), device_of(send), graph_);
    tick const begun = time(send).start;
    lane_state after{.last = time(i).cause, .free = time(i).start};
    if (begun + t.held > after.free) after = {.last = send, .free = begun + t.held};
    if (begun + t.all > time(i).start) {
      time(i).start = begun + t.all;
      time(i).cause = send;
    }
    time(i).made = time(send).made;
    end_after(i, 0);
    lane_[lane_of(i)] = after;
  }

  constexpr void end_after(int i, tick taken) {
    tick const end = saturating_sum(time(i).start, taken);
    if (end >= max_tick) refuse({.broken = rule::ticks_fit, .first = place_of(i)});
    time(i).end = end;
    lane_[lane_of(i)] = {.last = i, .free = end};
    line_.makespan = max_of(line_.makespan, end);
  }

  simulation_options const& o_;
  stage_graph const& graph_;
  timeline line_;
  std::vector<lane_state> lane_;  // by device and lane
  std::vector<int> issued_;       // in_stream: the last compute before a transfer in its stream
  shared_durations shared_;
  program_view program_;
  work_view work_;
};

}  // namespace ashlar
