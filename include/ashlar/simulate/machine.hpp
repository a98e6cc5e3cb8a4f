// Runs a program on timed lanes.
#pragma once

#include <ashlar/program/hazards.hpp>
#include <ashlar/prove/messages.hpp>
#include <ashlar/simulate/durations.hpp>
#include <ashlar/simulate/options.hpp>
#include <ashlar/simulate/timeline.hpp>
#include <ashlar/simulate/transfer_pairs.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// Lanes advance as those of rendezvous_machine do, and every instruction starts at the latest of what it
// waits for. Nothing depends on who is served first, so no queue of events is needed: a lane that has to
// wait is woken by what it waits for.
class timed_machine {
 public:
  // Throws violation with check_can_be_timed, and as transfer_pairs does.
  constexpr timed_machine(program const& p, simulation_options const& o)
      : p_(checked(p, o)),
        o_(o),
        index_(p),
        lanes_(static_cast<std::size_t>(p.collective_lane()) + 1),
        line_{std::vector<timed_instruction>(p.instructions.size()), 0},
        state_(p.instructions.size()),
        lane_(lanes_ * static_cast<std::size_t>(p.device_count())),
        partner_(transfer_pairs(p, index_)),
        reductions_(static_cast<std::size_t>(p.groups.count()) + 1),
        shared_(p, o) {
    // All waits: a receive whose latency holds no lane may end after the send behind it.
    for (int d = 0; d < p.device_count(); ++d) waits_.push_back(waits(p.view(), d, wait_detail::all));
    link_lanes();
  }

  // The times of all instructions. Throws violation: rule::no_cycle_of_waits with the first instruction
  // that never starts and what it waits for, rule::ticks_fit. Linear in instructions and waits.
  constexpr timeline run() {
    std::vector<std::size_t> awake;
    for (std::size_t lane = lane_.size(); lane-- > 0;)
      if (lane_[lane].head != none) awake.push_back(lane);
    while (!awake.empty()) {
      std::size_t const lane = awake.back();
      awake.pop_back();
      while (lane_[lane].head != none && try_run(lane_[lane].head, awake)) {
      }
    }
    for (lane_state const& l : lane_)
      if (l.head != none) throw violation{stuck(l.head)};
    return std::move(line_);
  }

 private:
  static constexpr int none = -1;

  struct state {
    int next = none;          // on the same lane
    int issued = none;        // the last compute before a transfer in its stream
    int first_waiter = none;  // lane heads that wait for this instruction, linked by next_waiter
    int next_waiter = none;
    bool done = false;
    bool arrived = false;  // at its meeting; start and cause then say since when
  };
  struct lane_state {
    int head = none;
    int last = none;  // what made it free
    tick free = 0;
  };

  static constexpr program const& checked(program const& p, simulation_options const& o) {
    if (diagnosis const d = check_can_be_timed(p, o); !d.ok()) throw violation{d};
    return p;
  }

  constexpr void link_lanes() {
    std::vector<int> last(lane_.size(), none);
    int issued = none, device = none;
    for (std::size_t n = 0; n < state_.size(); ++n) {
      int const i = static_cast<int>(n);
      if (index_.device(i) != device) issued = none;
      device = index_.device(i);
      if (at(i).code == opcode::compute)
        issued = i;
      else if (o_.issue == issue_mode::in_stream && at(i).code != opcode::all_reduce)
        of(i).issued = issued;
      int& before = last[lane_of(i)];
      (before == none ? lane_[lane_of(i)].head : of(before).next) = i;
      before = i;
    }
  }

  constexpr state& of(int i) { return state_[static_cast<std::size_t>(i)]; }
  constexpr timed_instruction& time(int i) { return line_.timed[static_cast<std::size_t>(i)]; }
  constexpr int partner(int i) const { return partner_[static_cast<std::size_t>(i)]; }
  constexpr instruction const& at(int i) const { return p_.instructions[static_cast<std::size_t>(i)]; }
  constexpr std::size_t lane_of(int i) const {
    return static_cast<std::size_t>(index_.device(i)) * lanes_ + static_cast<std::size_t>(at(i).lane);
  }

  // The first instruction that `i` waits for and that has not ended; none if there is none. Else sets
  // the time since which `i` can run, and what it followed.
  constexpr int unmet_wait(int i) {
    int const device = index_.device(i);
    int const base = p_.stream_begin[static_cast<std::size_t>(device)];
    lane_state const& lane = lane_[lane_of(i)];
    timed_instruction& self = time(i);
    self = {.start = lane.free, .cause = lane.last};
    auto const follow = [&](int other) {
      if (time(other).end > self.start) {
        self.start = time(other).end;
        self.cause = other;
      }
    };
    for (int local : waits_[static_cast<std::size_t>(device)].of(i - base)) {
      int const other = base + local;
      if (!of(other).done) return other;
      follow(other);
      tick const made = at(other).code == opcode::compute   ? time(other).end
                        : at(other).code == opcode::receive ? time(other).made
                                                            : 0;
      self.made = made > self.made ? made : self.made;
    }
    if (int const other = of(i).issued; other != none) {
      if (!of(other).done) return other;
      follow(other);
    }
    if (at(i).code == opcode::receive && o_.mode == transfer_mode::buffered && !of(partner(i)).done)
      return partner(i);
    return none;
  }

  // Runs lane head `i` if it can run now; else makes sure that the lane is woken when it can.
  constexpr bool try_run(int i, std::vector<std::size_t>& awake) {
    if (int const other = unmet_wait(i); other != none) {
      of(i).next_waiter = std::exchange(of(other).first_waiter, i);
      return false;
    }
    switch (at(i).code) {
      case opcode::compute:
        if (at(i).overlaps_next) return try_pair(i, awake);
        finish(i, saturating_sum(time(i).start, o_.cost.of(at(i).what)), awake);
        return true;
      case opcode::send:
      case opcode::receive:
        return o_.mode == transfer_mode::buffered ? move_buffered(i, awake) : meet(i, awake);
      case opcode::all_gather:
      case opcode::reduce_scatter:
      case opcode::release:
      case opcode::clear:
      case opcode::measure:
      case opcode::optimize:
        finish(i, saturating_sum(time(i).start, shared_.of(at(i))), awake);
        return true;
      case opcode::all_reduce:
        break;
    }
    int const group = at(i).group;
    return meet_all(i, reductions_[static_cast<std::size_t>(group)],
                    static_cast<int>(p_.groups.holders(group).size()), awake);
  }

  // A forward that is ready and the backward that it overlaps: both start when both can.
  constexpr bool try_pair(int i, std::vector<std::size_t>& awake) {
    int const next = i + 1;
    if (int const other = unmet_wait(next); other != none) {
      of(i).next_waiter = std::exchange(of(other).first_waiter, i);
      return false;
    }
    tick const made = time(i).made > time(next).made ? time(i).made : time(next).made;
    timed_instruction together = time(time(i).start >= time(next).start ? i : next);
    together.made = made;
    time(i) = time(next) = together;
    tick const end = saturating_sum(together.start, o_.cost.of_pair(at(i).what, at(next).what));
    finish(i, end, awake);
    time(next) = together;
    finish(next, end, awake);
    return true;
  }

  constexpr bool meet(int i, std::vector<std::size_t>& awake) {
    of(i).arrived = true;
    int const other = partner(i);
    if (!of(other).arrived) return false;
    int const late = time(i).start >= time(other).start ? i : other;
    int const send = at(i).code == opcode::send ? i : other, receive = send == i ? other : i;
    timed_instruction const meeting{
        .start = time(late).start, .made = time(send).made, .cause = time(late).cause};
    time(send) = time(receive) = meeting;
    transfer_time const t = time_of_transfer(o_, at(send), index_.device(send));
    tick const held = saturating_sum(meeting.start, t.held);
    finish(send, held, awake);
    finish(receive, saturating_sum(meeting.start, t.all), awake);
    lane_[lane_of(receive)].free = held;
    awake.push_back(lane_of(other));
    return true;
  }

  constexpr bool move_buffered(int i, std::vector<std::size_t>& awake) {
    if (at(i).code == opcode::send) {
      tick const held = time_of_transfer(o_, at(i), index_.device(i)).held;
      finish(i, saturating_sum(time(i).start, held), awake);
      return true;
    }
    int const send = partner(i);
    transfer_time const t = time_of_transfer(o_, at(send), index_.device(send));
    tick const begun = time(send).start;
    lane_state after{.head = of(i).next, .last = time(i).cause, .free = time(i).start};
    if (begun + t.held > after.free) {
      after.free = begun + t.held;
      after.last = send;
    }
    if (begun + t.all > time(i).start) {
      time(i).start = begun + t.all;
      time(i).cause = send;
    }
    time(i).made = time(send).made;
    finish(i, time(i).start, awake);
    lane_[lane_of(i)] = after;  // what comes next need not wait for a message that is under way
    return true;
  }

  // All `members` start together when the last has come.
  constexpr bool meet_all(int i, std::vector<int>& met, int members, std::vector<std::size_t>& awake) {
    of(i).arrived = true;
    met.push_back(i);
    if (static_cast<int>(met.size()) < members) return false;
    timed_instruction meeting = time(i);
    for (int member : met)
      if (time(member).start > meeting.start) meeting = time(member);
    for (int member : met) {
      time(member) = meeting;
      finish(member, saturating_sum(meeting.start, shared_.of(at(i))), awake);
      if (member != i) awake.push_back(lane_of(member));
    }
    met.clear();
    return true;
  }

  constexpr void finish(int i, tick end, std::vector<std::size_t>& awake) {
    if (end >= max_tick) throw violation{{.broken = rule::ticks_fit, .first = index_.at(i)}};
    time(i).end = end;
    of(i).done = true;
    lane_[lane_of(i)] = {.head = of(i).next, .last = i, .free = end};
    line_.makespan = end > line_.makespan ? end : line_.makespan;
    for (int w = of(i).first_waiter; w != none; w = of(w).next_waiter) awake.push_back(lane_of(w));
  }

  // The stuck lane head and what keeps it: a wait, or the other side of its meeting.
  constexpr diagnosis stuck(int i) {
    diagnosis d{.broken = rule::no_cycle_of_waits, .first = index_.at(i)};
    if (int const other = unmet_wait(i); other != none) {
      d.second = index_.at(other);
    } else if (at(i).overlaps_next) {
      d.second = index_.at(unmet_wait(i + 1));
    } else if (at(i).code == opcode::send || at(i).code == opcode::receive) {
      d.second = index_.at(partner(i));
    } else {
      for (std::size_t n = 0; n < state_.size(); ++n) {
        int const late = static_cast<int>(n);
        if (at(late).code == at(i).code && at(late).group == at(i).group && !of(late).arrived)
          d.second = index_.at(late);
      }
    }
    return d;
  }

  program const& p_;
  simulation_options const& o_;
  message_index index_;
  std::size_t lanes_;
  timeline line_;
  std::vector<state> state_;
  std::vector<lane_state> lane_;              // by device and lane
  std::vector<int> partner_;                  // the other half of a transfer
  std::vector<std::vector<int>> reductions_;  // by group: holders that have come
  shared_durations shared_;
  std::vector<wait_table> waits_;
};

}  // namespace ashlar
