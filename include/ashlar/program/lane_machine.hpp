// The one walk over a program's lanes. The proofs ask it whether all lanes reach their end, the
// simulation when, and issue_order in which order.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/program/hazards.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ashlar {

// Lanes advance whenever they can: the next instruction of a lane waits as hazards.hpp says, a transfer
// for its other half, an all-reduce for the holders of its group. Steps of different lanes commute, so
// one run decides for all: if it ends, every run ends. If it gets stuck, the union of lane orders, waits
// and rendezvous has a cycle.
//
// `Machine` derives from this and says what it means that instructions happen:
//   happens(last, together)  a pass or an overlapped pair, a send and its receive, the members of an
//                            all-reduce; `last` is the one that came last; or it leaves that out
// It may hide unmet_wait(), for those that wait for more, and is_rendezvous().
template <class Machine>
class lane_machine {
 public:
  // The index of no instruction.
  static constexpr int none = -1;

  // `partner`, by instruction: the other half of a transfer. Each device has `lanes` that advance on
  // their own: all of the program's, or one, which takes the whole stream in order.
  constexpr lane_machine(program_view const& p, list_view<int> partner, int lanes,
                         wait_detail detail = wait_detail::last_of_a_lane)
      : p_(p),
        lanes_(static_cast<std::size_t>(lanes)),
        steps_(p.instructions.size() + 1),
        queues_(lanes_ * static_cast<std::size_t>(p.device_count)),
        met_(static_cast<std::size_t>(all_reduce_count(p))) {
    waits_.reserve(2 * p.operands.size());
    for (int d = 0; d < p.device_count; ++d) add_stream(d, waits(p, d, detail), partner);
    steps_.back().first_wait = static_cast<int>(waits_.size());
  }

  // Whether all lanes reach their end. Linear in instructions and waits.
  constexpr bool run() {
    dynamic_array<int> awake;
    for (std::size_t lane = queues_.size(); lane-- > 0;)
      if (queues_[lane].up != none) awake.push_back(static_cast<int>(lane));
    while (!awake.empty()) {
      queue& lane = nth(queues_, awake.back());
      awake.pop_back();
      while (lane.up != none && try_run(lane.up, awake)) {
      }
    }
    for (queue const& lane : queues_)
      if (lane.up != none) return false;
    return true;
  }

  // A cycle, after a run that got stuck, of instructions each of which waits for the next, the last for
  // the first. Empty if one waits for what is not there. Linear in instructions and waits.
  constexpr dynamic_array<site> cycle() {
    dynamic_array<site> chain;
    int i = none;
    for (queue const& lane : queues_)
      if (lane.up != none) i = lane.up;
    find_absent();
    dynamic_array<char> seen(p_.instructions.size(), 0);
    for (; i != none && nth(seen, i) == 0; i = blocker(i)) nth(seen, i) = 1;
    int const first = i;  // met again, hence on the cycle
    if (i == none) return chain;
    do {
      chain.push_back(place_of(i));
      i = blocker(i);
    } while (i != first);
    return chain;
  }

  // Two neighbours of the cycle and its length.
  constexpr diagnosis diagnose_cycle(rule broken) {
    dynamic_array<site> const all = cycle();
    if (all.empty()) return wait(broken);
    return {.broken = broken,
            .first = all[0],
            .second = all[all.size() == 1 ? 0 : 1],
            .number = static_cast<std::int64_t>(all.size())};
  }

  // The first lane's instruction that never starts, after a run that got stuck, and what it waits for.
  constexpr diagnosis wait(rule broken = rule::no_cycle_of_waits) {
    find_absent();
    diagnosis d{.broken = broken};
    for (queue const& lane : queues_) {
      if (lane.up == none) continue;
      d.first = place_of(lane.up);
      if (int const other = blocker(lane.up); other != none) d.second = place_of(other);
      return d;
    }
    return d;
  }

 protected:
  struct ignore {};  // what has ended

  constexpr instruction const& at(int i) const { return nth(p_.instructions, i); }
  constexpr opcode code_of(int i) const { return nth(steps_, i).code; }
  constexpr int partner(int i) const { return nth(steps_, i).partner; }
  constexpr std::size_t lane_of(int i) const { return static_cast<std::size_t>(nth(steps_, i).lane); }
  constexpr int device_of(int i) const { return static_cast<int>(lane_of(i) / lanes_); }
  constexpr std::size_t lane_total() const { return queues_.size(); }  // of all devices
  // A lane runs its instructions in the order of their numbers.
  constexpr bool is_done(int i) const {
    int const up = queues_[lane_of(i)].up;
    return up > i || up == none;
  }
  constexpr site place_of(int i) const {
    int const device = device_of(i);
    return site_of(at(i), device, i - stream_begin(p_, device));
  }

  // The first instruction on its own device that `i` still has to wait for; calls met(other) for those
  // that have ended.
  template <class Met>
  constexpr int unmet_hazard(int i, [[maybe_unused]] Met met) {
    step const* const steps = steps_.data();
    queue const* const queues = queues_.data();
    int const* const waits = waits_.data();
    for (int w = steps[i].first_wait, end = steps[i + 1].first_wait; w != end; ++w) {
      int const other = waits[w], up = queues[steps[other].lane].up;
      if (up <= other && up != none) return other;
      if constexpr (requires { met(other); }) met(other);
    }
    return none;
  }

  constexpr int unmet_wait(int i) { return unmet_hazard(i, ignore{}); }
  // Whether both halves of a transfer happen at once.
  constexpr bool is_rendezvous() const { return true; }

 private:
  // All that the walk needs of an instruction, in one place: long programs do not fit into caches.
  struct step {
    int lane;          // counted over all devices
    int next;          // on the same lane
    int first_waiter;  // the lanes that wait for this instruction, linked by next_waiter
    int partner;
    int first_wait;  // of those until the first of the next instruction
    opcode code;
    bool overlaps_next;
  };
  struct queue {
    int up = none;  // the instruction that runs next
    int next_waiter = none;
    bool has_arrived = false;  // what is up, at its rendezvous
  };

  constexpr void add_stream(int device, wait_table const& table, list_view<int> partner) {
    int const begin = stream_begin(p_, device), end = stream_end(p_, device);
    int const lanes = static_cast<int>(lanes_), first_lane = device * lanes;
    int const first_wait = static_cast<int>(waits_.size());
    for (int const other : table.all()) waits_.push_back(begin + other);
    instruction const* const all = p_.instructions.data();
    int const* const wait_begin = table.begins().data();
    step* const steps = steps_.data();
    queue* const queues = queues_.data();
    for (int i = end; i-- > begin;) {
      instruction const& self = all[i];
      int const lane = lanes == 1 ? first_lane : first_lane + self.lane;
      steps[i] = {
          lane,      queues[lane].up,   none, partner.first[i], first_wait + wait_begin[i - begin],
          self.code, self.overlaps_next};
      queues[lane].up = i;
    }
  }

  // Whether the machine wants to know what happens.
  static constexpr bool notes() {
    return requires(Machine m, list_view<int> together) { m.happens(0, together); };
  }

  constexpr Machine& self() { return static_cast<Machine&>(*this); }
  constexpr queue& queue_of(int i) { return queues_[lane_of(i)]; }
  constexpr bool has_arrived(int i) {
    queue const& lane = queue_of(i);
    return lane.up == i && lane.has_arrived;
  }

  // The instruction that `i`, or its overlapped partner, still has to wait for.
  constexpr int unmet(int i, step const& mine) {
    int const other = self().unmet_wait(i);
    return other == none && mine.overlaps_next ? self().unmet_wait(i + 1) : other;
  }

  // Runs lane head `i` if it can run now; else makes sure that the lane is woken when it can.
  constexpr bool try_run(int i, dynamic_array<int>& awake) {
    step const& mine = nth(steps_, i);
    queue& lane = nth(queues_, mine.lane);
    if (int const other = unmet(i, mine); other != none) {
      lane.next_waiter = std::exchange(nth(steps_, other).first_waiter, mine.lane);
      return false;
    }
    opcode const code = mine.code;
    if (code == opcode::all_reduce) {
      lane.has_arrived = true;
      std::vector<int>& met = nth(met_, at(i).group);
      met.push_back(i);
      if (met.size() < member_count(p_, at(i).group)) return false;
      if constexpr (notes()) self().happens(i, view_of(met));
      for (int member : met) {
        end(member, awake);
        if (member != i) awake.push_back(nth(steps_, member).lane);
      }
      met.clear();
      return true;
    }
    if ((code == opcode::send || code == opcode::receive) && self().is_rendezvous()) {
      lane.has_arrived = true;
      int const other = mine.partner;
      if (other == none || !has_arrived(other)) return false;
      int const send = code == opcode::send ? i : other, receive = code == opcode::send ? other : i;
      if constexpr (notes()) {
        int const both[] = {send, receive};
        self().happens(i, {both, both + 2});
      }
      end(send, awake);
      end(receive, awake);
      awake.push_back(nth(steps_, other).lane);
      return true;
    }
    // The data-parallel ranks all run this program: a collective between them happens on all.
    bool const is_pair = mine.overlaps_next;
    if constexpr (notes()) {
      int const pair[] = {i, i + 1};
      self().happens(i, {pair, pair + (is_pair ? 2 : 1)});
    }
    end(i, awake);
    if (is_pair) end(i + 1, awake);
    return true;
  }

  constexpr void end(int i, dynamic_array<int>& awake) {
    step const& self = nth(steps_, i);
    queue& lane = nth(queues_, self.lane);
    lane.up = self.next;
    lane.has_arrived = false;
    for (int w = self.first_waiter; w != none; w = nth(queues_, w).next_waiter) awake.push_back(w);
  }

  // The cause that keeps `i` stuck: an instruction before it on its lane, a wait, or the other side of
  // its rendezvous, which has not come up on its lane.
  constexpr int blocker(int i) {
    if (int const up = queue_of(i).up; up != i) return up;
    if (int const other = unmet(i, nth(steps_, i)); other != none) return other;
    if (code_of(i) == opcode::send || code_of(i) == opcode::receive) return partner(i);
    return nth(absent_, at(i).group);
  }

  // The first instruction that has not come to each rendezvous.
  constexpr void find_absent() {
    absent_ = dynamic_array<int>(met_.size(), none);
    for (int i = static_cast<int>(p_.instructions.size()); i-- > 0;)
      if (code_of(i) == opcode::all_reduce && !is_done(i) && !has_arrived(i))
        nth(absent_, at(i).group) = i;
  }

  program_view p_;
  std::size_t lanes_;
  dynamic_array<step> steps_;          // by instruction, and the end
  dynamic_array<queue> queues_;        // by lane
  std::vector<std::vector<int>> met_;  // by group: who has come to its all-reduce
  dynamic_array<int> absent_;          // by group: the first that has not come
  dynamic_array<int> waits_;
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
  dynamic_array<std::size_t> end(n + 1, 0);
  for (instruction const& i : p.instructions)
    if (has_peer(i, opcode::send)) ++end[static_cast<std::size_t>(i.peer) + 1];
  for (std::size_t d = 1; d <= n; ++d) end[d] += end[d - 1];
  dynamic_array<sent> sends(end[n], sent{});
  for (int d = 0; d < p.device_count; ++d) {
    for (int i = stream_begin(p, d); i < stream_end(p, d); ++i) {
      instruction const& self = nth(p.instructions, i);
      if (has_peer(self, opcode::send)) sends[nth(end, self.peer)++] = {d, i};
    }
  }

  std::vector<int> partner(p.instructions.size(), -1);
  // By source: the first send that is not yet received.
  dynamic_array<std::size_t> next(n, sends.size());
  for (std::size_t d = 0, begin = 0; d < n; begin = end[d], ++d) {
    for (std::size_t k = end[d]; k-- > begin;) nth(next, sends[k].source) = k;
    for (int i = stream_begin(p, d); i < stream_end(p, d); ++i) {
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
