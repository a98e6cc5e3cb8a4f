// Level "deadlock-free under rendezvous": a send lasts until its receive has come, and still all lanes
// reach their end.
#pragma once

#include <ashlar/program/hazards.hpp>
#include <ashlar/prove/messages.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// Runs the program on a machine whose lanes advance whenever they can. What one lane does never takes
// away another's possibility, so if this run ends, every run ends; and if it gets stuck, the
// instructions left wait for each other: the union of lane orders, waits and meetings (of a send with
// its receive, of the holders of a group) has a cycle.
class rendezvous_machine {
 public:
  // For a complete program; `index` holds both halves of every transfer.
  constexpr rendezvous_machine(program const& p, message_index& index)
      : p_(p),
        index_(index),
        lanes_(static_cast<std::size_t>(p.collective_lane()) + 1),
        state_(p.instructions.size()),
        head_(lanes_ * static_cast<std::size_t>(p.device_count()), none),
        meetings_(static_cast<std::size_t>(p.groups.count()) + 1) {
    program_view const view = p.view();
    for (int d = 0; d < p.device_count(); ++d) waits_.push_back(waits(view, d));
    for (std::size_t i = p.instructions.size(); i-- > 0;) {
      int& head = head_[lane_of(static_cast<int>(i))];
      state_[i].next = head;
      head = static_cast<int>(i);
    }
  }

  // Whether all lanes reach their end; else two neighbours of a circle and its length. Linear in
  // instructions and waits.
  constexpr diagnosis run() {
    std::vector<std::size_t> awake;
    for (std::size_t lane = head_.size(); lane-- > 0;)
      if (head_[lane] != none) awake.push_back(lane);
    while (!awake.empty()) {
      std::size_t const lane = awake.back();
      awake.pop_back();
      while (head_[lane] != none && try_run(head_[lane], awake)) {
      }
    }
    std::vector<site> const circle = cycle();
    if (circle.empty()) return {};
    return {.broken = rule::no_cycle_of_waits,
            .first = circle[0],
            .second = circle[circle.size() == 1 ? 0 : 1],
            .number = static_cast<std::int64_t>(circle.size())};
  }

  // After a run that got stuck: a circle of instructions each of which waits for the next, the last for
  // the first. Linear in instructions and waits.
  constexpr std::vector<site> cycle() {
    std::vector<site> chain;
    int at = none;
    for (int head : head_)
      if (head != none) at = head;
    if (at == none) return chain;
    find_absent();
    std::vector<char> seen(state_.size(), 0);
    for (; seen[static_cast<std::size_t>(at)] == 0; at = blocker(at))
      seen[static_cast<std::size_t>(at)] = 1;
    int const first = at;  // met again, hence on the circle
    do {
      chain.push_back(index_.at(at));
      at = blocker(at);
    } while (at != first);
    return chain;
  }

 private:
  static constexpr int none = -1;

  struct state {
    int next = none;  // on the same lane
    int first_waiter =
        none;  // lanes that wait for this instruction, linked by next_waiter of their heads
    int next_waiter = none;
    bool done = false;
    bool arrived = false;  // at its meeting
  };

  constexpr state& of(int i) { return state_[static_cast<std::size_t>(i)]; }
  constexpr instruction const& at(int i) const { return p_.instructions[static_cast<std::size_t>(i)]; }
  constexpr std::size_t lane_of(int i) const {
    return static_cast<std::size_t>(index_.device(i)) * lanes_ + static_cast<std::size_t>(at(i).lane);
  }
  constexpr int base(int i) const { return p_.stream_begin[static_cast<std::size_t>(index_.device(i))]; }

  // The first instruction on its own device that `i`, and what it runs overlapped with, still has to
  // wait for.
  constexpr int unmet_wait(int i) {
    for (int local : waits_[static_cast<std::size_t>(index_.device(i))].of(i - base(i)))
      if (!of(base(i) + local).done) return base(i) + local;
    return at(i).overlaps_next ? unmet_wait(i + 1) : none;
  }

  constexpr int partner(int i) {
    auto const& ends = index_.of(index_.number(at(i)));
    return at(i).code == opcode::send ? ends.receive : ends.send;
  }

  // Runs lane head `i` if it can run now; else makes sure that the lane is woken when it can.
  constexpr bool try_run(int i, std::vector<std::size_t>& awake) {
    if (int const other = unmet_wait(i); other != none) {
      of(i).next_waiter = std::exchange(of(other).first_waiter, i);
      return false;
    }
    switch (at(i).code) {
      case opcode::compute:
      case opcode::clear:
      case opcode::measure:
      case opcode::optimize:
      // Between data-parallel ranks, which all run this program: what one does, all do.
      case opcode::all_gather:
      case opcode::release:
      case opcode::reduce_scatter:
        finish(i, awake);
        return true;
      case opcode::send:
      case opcode::receive: {
        of(i).arrived = true;
        int const other = partner(i);
        if (!of(other).arrived) return false;
        finish(i, awake);
        finish(other, awake);
        awake.push_back(lane_of(other));
        return true;
      }
      case opcode::all_reduce:
        break;
    }
    of(i).arrived = true;
    std::vector<int>& met = meetings_[static_cast<std::size_t>(at(i).group)];
    met.push_back(i);
    if (met.size() < p_.groups.holders(at(i).group).size()) return false;
    for (int member : met) {
      finish(member, awake);
      if (member != i) awake.push_back(lane_of(member));
    }
    return true;
  }

  constexpr void finish(int i, std::vector<std::size_t>& awake) {
    of(i).done = true;
    head_[lane_of(i)] = of(i).next;
    for (int w = of(i).first_waiter; w != none; w = of(w).next_waiter) awake.push_back(lane_of(w));
  }

  // What keeps the stuck instruction `i`: an instruction before it on its lane, a wait, or the other
  // side of its meeting, which has not come up on its lane.
  constexpr int blocker(int i) {
    if (int const head = head_[lane_of(i)]; head != i) return head;
    if (int const other = unmet_wait(i); other != none) return other;
    if (at(i).code == opcode::send || at(i).code == opcode::receive) return partner(i);
    return absent_[static_cast<std::size_t>(at(i).group)];
  }

  // The first instruction that has not come to each meeting.
  constexpr void find_absent() {
    absent_.assign(meetings_.size(), none);
    for (int i = static_cast<int>(state_.size()); i-- > 0;)
      if (at(i).code == opcode::all_reduce && !of(i).arrived)
        absent_[static_cast<std::size_t>(at(i).group)] = i;
  }

  program const& p_;
  message_index& index_;
  std::size_t lanes_;
  std::vector<state> state_;
  std::vector<int> head_;                   // by device and lane: the instruction that is up
  std::vector<std::vector<int>> meetings_;  // who has come to the all-reduce of each group
  std::vector<int> absent_;                 // by group: the first that has not come
  std::vector<wait_table> waits_;
};

constexpr diagnosis check_deadlock_free(program const& p, message_index& index) {
  return rendezvous_machine(p, index).run();
}

}  // namespace ashlar
