// The proof that devices may start the first of their next passes that can start: every order that may
// result is safe.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/program/event_table.hpp>
#include <ashlar/prove/prove.hpp>

#include <cstddef>

namespace ashlar {

// The waits of a runtime whose devices look at their next `window` passes; with 1, they keep their
// order.
constexpr wait_detail detail_of_window(int window) {
  return window > 1 ? wait_detail::any_pass_order : wait_detail::all;
}

namespace prove_detail {

// One device whose lane of passes starts any of its next `window` whose waits are over, and blocks until
// that has ended. Its other lanes start in order, and end in any. A pair is one instruction, its first.
//
// Finds, for each instruction, all that has ended, in any order, by the time that it can start. These
// are its waits, instructions at least a window before it on the lane of passes, and all that these, and
// those before it on a lane that starts in order, waited for in turn. The set is closed and runs by
// itself, so there is an order in which nothing else has ended by then.
class window_walk {
 public:
  // `table` has the waits; all arguments must outlive this.
  constexpr window_walk(program_view const& p, int device, event_table const& table, int window)
      : p_(p),
        device_(device),
        table_(table),
        window_(window),
        stream_(p.stream(device)),
        before_(stream_.size(), none),
        place_(stream_.size(), none),
        mark_(stream_.size(), 0) {
    dynamic_array<int> last(static_cast<std::size_t>(p.lane_count), none);
    int passes = 0;
    for (int i = 0; i < count(); ++i) {
      if (unit(i) != i) continue;
      int& end = nth(last, nth(stream_, i).lane);
      nth(before_, i) = end;
      end = i;
      if (nth(stream_, i).lane == compute_lane) nth(place_, i) = passes++;
    }
  }

  // Returns rule::nothing_is_issued_before_what_it_waits_for if the first may start before the second
  // has ended although they share a slot that one of them changes, or are passes of a kind and stage, or
  // share the lane of passes and one is no pass of a stage. Returns rule::no_cycle_of_waits for a wait
  // that neither slots nor the lane's own order imply: the proof that the program ends knows nothing of
  // it.
  constexpr diagnosis run() {
    for (int i = 0; i < count(); ++i)
      if (unit(i) == i)
        for (int other : table_.waits_of(i))
          if (other >= i || (nth(stream_, other).lane != nth(stream_, i).lane && !share(other, i)))
            return found(rule::no_cycle_of_waits, i, other);
    collect_needs();
    for (int i = 0; i < count(); ++i)
      if (unit(i) == i)
        if (int const other = first_unordered(i); other != none)
          return found(rule::nothing_is_issued_before_what_it_waits_for, i, other);
    return {};
  }

 private:
  static constexpr int none = -1;
  static constexpr unsigned char begun = 1, ended = 2, needed = 4;

  constexpr int count() const { return static_cast<int>(stream_.size()); }
  constexpr int unit(int i) const { return i > 0 && nth(stream_, i - 1).overlaps_next ? i - 1 : i; }
  constexpr int last_part(int i) const { return nth(stream_, i).overlaps_next ? i + 1 : i; }

  constexpr diagnosis found(rule broken, int first, int second) const {
    return {.broken = broken,
            .first = site_of(nth(stream_, first), device_, first),
            .second = site_of(nth(stream_, second), device_, second)};
  }

  // Whether two instructions use a slot and one of them changes it.
  constexpr bool share(int a, int b) const {
    for (int i = a; i <= last_part(a); ++i)
      for (int j = b; j <= last_part(b); ++j)
        for (operand const& mine : p_.operands_of(nth(stream_, i)))
          for (operand const& theirs : p_.operands_of(nth(stream_, j)))
            if (mine.slot == theirs.slot && (mine.how != access::read || theirs.how != access::read))
              return true;
    return false;
  }

  constexpr void need(int earlier) { needs_.push_back(unit(earlier)); }

  // Collects for each instruction those that have to have ended: the neighbours of every order that
  // matters, of which the rest follows.
  constexpr void collect_needs() {
    struct use {
      int index;
      int earlier;  // in `uses`, of the same slot
      bool changes;
    };
    dynamic_array<use> uses;
    dynamic_array<int> latest(p_.slots_of(device_).size(), none);
    dynamic_array<int> of_kind(static_cast<std::size_t>(p_.stage_count) * pass_kinds, none);
    dynamic_array<int> since;  // passes of stages, since `in_place`
    int in_place = none;       // the last that is none, on their lane
    begin_.push_back(0);
    for (int i = 0; i < count(); ++i) {
      instruction const& self = nth(stream_, i);
      for (operand const& o : p_.operands_of(self)) {
        bool const changes = o.how != access::read;
        // A reader needs the last that changed the slot; a change needs all since then, too.
        for (int k = nth(latest, o.slot); k != none; k = nth(uses, k).earlier) {
          if (changes || nth(uses, k).changes) need(nth(uses, k).index);
          if (nth(uses, k).changes) break;
        }
        uses.push_back({i, nth(latest, o.slot), changes});
        nth(latest, o.slot) = static_cast<int>(uses.size()) - 1;
      }
      if (self.lane == compute_lane) {
        if (in_place != none) need(in_place);
        if (may_go_ahead(self)) {
          int& last = nth(of_kind, self.what.stage * pass_kinds + static_cast<int>(self.what.kind));
          if (last != none) need(last);
          last = i;
          since.push_back(i);
        } else {
          for (int const pass : since) need(pass);
          since.clear();
          in_place = i;
        }
      }
      begin_.push_back(static_cast<int>(needs_.size()));
    }
  }

  // An instruction that `self` needs, and that may not have ended when it starts; none.
  constexpr int first_unordered(int self) {
    int lowest = self;
    int const end = nth(begin_, last_part(self) + 1);
    for (int k = nth(begin_, self); k < end; ++k)
      if (int const other = nth(needs_, k); other != self) {
        nth(mark_, other) |= needed;
        lowest = other < lowest ? other : lowest;
      }
    auto const touch = [&](int at, unsigned char how) {
      if (at >= lowest) nth(mark_, at) |= how;
    };
    int through = none;  // on the lane of passes, all up to this place have ended
    int unordered = none;
    nth(mark_, self) = begun;
    for (int j = self; j >= lowest; --j) {
      unsigned char how = nth(mark_, j);
      nth(mark_, j) = 0;
      int const place = nth(place_, j);
      if (place != none && place <= through) how |= ended;
      if ((how & needed) != 0 && (how & ended) == 0) unordered = j;
      if ((how & (begun | ended)) == 0) continue;
      for (int other : table_.waits_of(j)) touch(other, ended);
      if (place != none) {
        through = place - window_ > through ? place - window_ : through;
      } else if (int const other = nth(before_, j); other != none) {
        // A release is over when its waits are, and they hold up its lane.
        touch(other, nth(stream_, other).code == opcode::release ? ended : begun);
      }
    }
    return unordered;
  }

  program_view const& p_;
  int device_;
  event_table const& table_;
  int window_;
  list_view<instruction> stream_;
  dynamic_array<int> before_;  // on its lane
  dynamic_array<int> place_;   // on the lane of passes
  dynamic_array<unsigned char> mark_;
  dynamic_array<int> needs_, begin_;  // by instruction
};

}  // namespace prove_detail

// Checks that a program that passes check() is right in every order in which each device may run its
// passes if it starts any of its next `window` whose waits are over, with the waits that runtimes have
// (detail_of_window).
//
// Messages: lanes of transfers and collectives keep their order, which is the one that is proved.
// Memory: any two instructions that use a slot, one of them to change it, run in the stream's order, so
// each finds what it would have found, and sums are added up in the same order. It ends: every wait
// follows from slots or from the order of a lane, so the first pass that has not run can start as soon
// as it could in order, and it is in every window.
//
// rule::counts_are_positive for a window of no pass, what check_tables says, and the rules of
// window_walk::run with two instructions of a device. At worst quadratic in the instructions of a
// device.
constexpr diagnosis check_window(program_view const& p, int window) {
  if (window < 1) return {.broken = rule::counts_are_positive, .number = window};
  if (diagnosis const d = check_tables(p); !d.ok()) return d;
  for (int device = 0; device < p.device_count; ++device) {
    event_table const table(p, device, detail_of_window(window));
    if (diagnosis const d = prove_detail::window_walk(p, device, table, window).run(); !d.ok()) return d;
  }
  return {};
}

// Runs check(p) first.
constexpr diagnosis check_window(program const& p, int window) {
  if (diagnosis const d = check(p); !d.ok()) return d;
  return check_window(p.view(), window);
}

}  // namespace ashlar
