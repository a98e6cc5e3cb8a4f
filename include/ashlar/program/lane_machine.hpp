// The one walk over a program's lanes. The proofs ask it whether all lanes reach their end, the
// simulation when, and issue_order in which order.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/program/hazards.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ashlar {

// Lanes advance whenever they can: what is up on a lane waits for what hazards.hpp says, a transfer for
// its other half, an all-reduce for the holders of its group. What one lane does never takes away
// another's possibility, so if this run ends, every run ends; and if it gets stuck, the instructions
// left wait for each other: the union of lane orders, waits and rendezvous has a cycle.
//
// `Machine` derives from this and says what it means that instructions happen:
//   happens(last, together)  a pass or an overlapped pair, a send and its receive, the members of an
//                            all-reduce; `last` is the one that came last
// It may hide unmet_wait(), for those that wait for more, and is_rendezvous().
template <class Machine>
class lane_machine {
 public:
  // Of an instruction that is nowhere.
  static constexpr int none = -1;

  // `partner`, by instruction: the other half of a transfer. Each device has `lanes` that advance on
  // their own: all of the program's, or one, which takes the whole stream in order.
  constexpr lane_machine(program_view const& p, std::vector<int> partner, int lanes,
                         wait_detail detail = wait_detail::last_of_a_lane)
      : p_(p),
        partner_(std::move(partner)),
        lanes_(static_cast<std::size_t>(lanes)),
        state_(p.instructions.size()),
        head_(lanes_ * static_cast<std::size_t>(p.device_count), none),
        met_(static_cast<std::size_t>(all_reduce_count(p))),
        waits_(waits_of_all(p, detail)) {
    for (int d = 0; d < p.device_count; ++d)
      for (int i = p.stream_begin[static_cast<std::size_t>(d) + 1]; i-- > nth(p.stream_begin, d);) {
        state& self = of(i);
        self.lane = d * lanes + (lanes == 1 ? 0 : at(i).lane);
        self.next = std::exchange(head_[lane_of(i)], i);
      }
  }

  // Whether all lanes reach their end. Linear in instructions and waits.
  constexpr bool run() {
    std::vector<std::size_t> awake;
    for (std::size_t lane = head_.size(); lane-- > 0;)
      if (head_[lane] != none) awake.push_back(lane);
    while (!awake.empty()) {
      std::size_t const lane = awake.back();
      awake.pop_back();
      while (head_[lane] != none && try_run(head_[lane], awake)) {
      }
    }
    for (int head : head_)
      if (head != none) return false;
    return true;
  }

  // After a run that got stuck: a circle of instructions each of which waits for the next, the last for
  // the first. Empty if one waits for what is not there. Linear in instructions and waits.
  constexpr std::vector<site> cycle() {
    std::vector<site> chain;
    int i = none;
    for (int head : head_)
      if (head != none) i = head;
    find_absent();
    std::vector<char> seen(state_.size(), 0);
    for (; i != none && nth(seen, i) == 0; i = blocker(i)) nth(seen, i) = 1;
    int const first = i;  // met again, hence on the circle
    if (i == none) return chain;
    do {
      chain.push_back(place_of(i));
      i = blocker(i);
    } while (i != first);
    return chain;
  }

  // Two neighbours of the circle and its length.
  constexpr diagnosis circle(rule broken) {
    std::vector<site> const all = cycle();
    if (all.empty()) return wait(broken);
    return {.broken = broken,
            .first = all[0],
            .second = all[all.size() == 1 ? 0 : 1],
            .number = static_cast<std::int64_t>(all.size())};
  }

  // After a run that got stuck: the first lane's instruction that never starts, and what it waits for.
  constexpr diagnosis wait(rule broken = rule::no_cycle_of_waits) {
    find_absent();
    diagnosis d{.broken = broken};
    for (int head : head_) {
      if (head == none) continue;
      d.first = place_of(head);
      if (int const other = blocker(head); other != none) d.second = place_of(other);
      return d;
    }
    return d;
  }

 protected:
  constexpr instruction const& at(int i) const { return nth(p_.instructions, i); }
  constexpr int partner(int i) const { return nth(partner_, i); }
  constexpr std::size_t lane_of(int i) const { return static_cast<std::size_t>(nth(state_, i).lane); }
  constexpr int device_of(int i) const { return static_cast<int>(lane_of(i) / lanes_); }
  constexpr std::size_t lane_total() const { return head_.size(); }  // of all devices
  constexpr bool is_done(int i) const { return nth(state_, i).done; }
  constexpr site place_of(int i) const {
    int const device = device_of(i);
    return site_of(at(i), device, i - nth(p_.stream_begin, device));
  }

  // The first instruction on its own device that `i` still has to wait for; calls met(other) for those
  // that have ended.
  template <class Met>
  constexpr int unmet_hazard(int i, Met met) {
    for (int other : waits_.of(i)) {
      if (!is_done(other)) return other;
      met(other);
    }
    return none;
  }

  constexpr int unmet_wait(int i) {
    return unmet_hazard(i, [](int) {});
  }
  // Whether both halves of a transfer happen at once.
  constexpr bool is_rendezvous() const { return true; }

 private:
  struct state {
    int lane = 0;     // counted over all devices
    int next = none;  // on the same lane
    int first_waiter =
        none;  // lanes that wait for this instruction, linked by next_waiter of their heads
    int next_waiter = none;
    bool done = false;
    bool arrived = false;  // at its rendezvous
  };

  constexpr Machine& self() { return static_cast<Machine&>(*this); }
  constexpr state& of(int i) { return nth(state_, i); }

  // What `i`, and what it runs overlapped with, still has to wait for.
  constexpr int unmet(int i) {
    int const other = self().unmet_wait(i);
    return other == none && at(i).overlaps_next ? self().unmet_wait(i + 1) : other;
  }

  // Runs lane head `i` if it can run now; else makes sure that the lane is woken when it can.
  constexpr bool try_run(int i, std::vector<std::size_t>& awake) {
    if (int const other = unmet(i); other != none) {
      of(i).next_waiter = std::exchange(of(other).first_waiter, i);
      return false;
    }
    opcode const code = at(i).code;
    if (code == opcode::all_reduce) {
      of(i).arrived = true;
      std::vector<int>& met = nth(met_, at(i).group);
      met.push_back(i);
      if (met.size() < member_count(p_, at(i).group)) return false;
      self().happens(i, view_of(met));
      for (int member : met) {
        end(member, awake);
        if (member != i) awake.push_back(lane_of(member));
      }
      met.clear();
      return true;
    }
    if ((code == opcode::send || code == opcode::receive) && self().is_rendezvous()) {
      of(i).arrived = true;
      int const other = partner(i);
      if (other == none || !of(other).arrived) return false;
      int const both[] = {code == opcode::send ? i : other, code == opcode::send ? other : i};
      self().happens(i, {both, both + 2});
      for (int half : both) end(half, awake);
      awake.push_back(lane_of(other));
      return true;
    }
    // What data-parallel ranks, which all run this program, do between them: what one does, all do.
    int const pair[] = {i, i + 1};
    bool const is_pair = at(i).overlaps_next;
    self().happens(i, {pair, pair + (is_pair ? 2 : 1)});
    end(i, awake);
    if (is_pair) end(i + 1, awake);
    return true;
  }

  constexpr void end(int i, std::vector<std::size_t>& awake) {
    of(i).done = true;
    head_[lane_of(i)] = of(i).next;
    for (int w = of(i).first_waiter; w != none; w = of(w).next_waiter) awake.push_back(lane_of(w));
  }

  // What keeps the stuck instruction `i`: an instruction before it on its lane, a wait, or the other
  // side of its rendezvous, which has not come up on its lane.
  constexpr int blocker(int i) {
    if (int const head = head_[lane_of(i)]; head != i) return head;
    if (int const other = unmet(i); other != none) return other;
    if (at(i).code == opcode::send || at(i).code == opcode::receive) return partner(i);
    return nth(absent_, at(i).group);
  }

  // The first instruction that has not come to each rendezvous.
  constexpr void find_absent() {
    absent_.assign(met_.size(), none);
    for (int i = static_cast<int>(state_.size()); i-- > 0;)
      if (at(i).code == opcode::all_reduce && !of(i).arrived) nth(absent_, at(i).group) = i;
  }

  program_view p_;
  std::vector<int> partner_;
  std::size_t lanes_;
  std::vector<state> state_;
  std::vector<int> head_;              // by lane: the instruction that is up
  std::vector<std::vector<int>> met_;  // by group: who has come to its all-reduce
  std::vector<int> absent_;            // by group: the first that has not come
  wait_table waits_;
};

// The other half of each transfer if the k-th send of a device to another meets its k-th receive; -1 for
// all else. Linear in instructions and devices.
constexpr std::vector<int> partners_in_order(program_view const& p) {
  struct sent {
    int source;
    int instruction;
  };
  auto const n = static_cast<std::size_t>(p.device_count);
  auto const has_peer = [&](instruction const& i, opcode code) {
    return i.code == code && i.peer >= 0 && i.peer < p.device_count;
  };
  // The sends to each device, by source and place.
  std::vector<std::size_t> end(n + 1, 0);
  for (instruction const& i : p.instructions)
    if (has_peer(i, opcode::send)) ++end[static_cast<std::size_t>(i.peer) + 1];
  for (std::size_t d = 1; d <= n; ++d) end[d] += end[d - 1];
  std::vector<sent> sends(end[n], sent{});
  for (int d = 0; d < p.device_count; ++d) {
    auto const source = static_cast<std::size_t>(d);
    for (int i = p.stream_begin[source]; i < p.stream_begin[source + 1]; ++i) {
      instruction const& self = nth(p.instructions, i);
      if (has_peer(self, opcode::send)) sends[nth(end, self.peer)++] = {d, i};
    }
  }

  std::vector<int> partner(p.instructions.size(), -1);
  std::vector<std::size_t> next(n, sends.size());  // by source: the first send that is not yet received
  for (std::size_t d = 0, begin = 0; d < n; begin = end[d], ++d) {
    for (std::size_t k = end[d]; k-- > begin;) nth(next, sends[k].source) = k;
    for (int i = p.stream_begin[d]; i < p.stream_begin[d + 1]; ++i) {
      instruction const& self = nth(p.instructions, i);
      if (!has_peer(self, opcode::receive)) continue;
      std::size_t& k = nth(next, self.peer);
      if (k >= end[d] || sends[k].source != self.peer) continue;
      int const send = sends[k++].instruction;
      nth(partner, i) = send;
      nth(partner, send) = i;
    }
    for (std::size_t k = begin; k < end[d]; ++k) nth(next, sends[k].source) = sends.size();
  }
  return partner;
}

}  // namespace ashlar
