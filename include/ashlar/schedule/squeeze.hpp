// schedule -> schedule: every pass as early as the order and its inputs allow.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/pipe.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/pass_table.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/tables.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// Walks all devices' orders at once; a device that has to wait is woken by the pass that it waits for.
class order_walk {
 public:
  // Refers to the schedule, whose starts it changes.
  constexpr explicit order_walk(schedule& s)
      : s_(s),
        p_(static_cast<std::size_t>(s.device_count())),
        work_(s.work.view()),
        ends_(s.stage_count(), s.micro_batch_count(), work_, {absent, nobody}),
        next_(p_, 0),
        free_(p_, 0),
        next_waiter_(p_, nobody) {}

  // Sets every start to the earliest possible time. The order of each device is kept; inputs that no
  // pass of the schedule gives count as present. Linear in passes and dependencies. Breaks the rules of
  // check_tables(), rule::every_pass_is_known, rule::no_pass_is_doubled,
  // rule::overlapped_passes_are_a_pair or rule::order_has_no_cycle (a pass that waits, and for which; on
  // one device if possible); starts are then of no use.
  constexpr diagnosis run() {
    if (diagnosis const d = check_tables(s_); !d.ok()) return d;
    are_transfers_free_ = s_.cost.are_transfers_free();
    for (std::size_t d = 0; d < p_; ++d) {
      std::vector<time_slot> const& order = s_.order[d];
      for (time_slot const *t = order.data(), *const last = t + order.size(); t != last; ++t) {
        auto const here = [&](pass const& what) { return at(d, t - order.data(), what); };
        if (t->is_pair() && !t->is_right())
          return {.broken = rule::overlapped_passes_are_a_pair, .first = here(t->what)};
        for (pass const* what = &t->what; what != nullptr; what = t->after(what)) {
          if (!s_.knows(*what) || (what->kind == pass_kind::work && work_.is_collective(*what)))
            return {.broken = rule::every_pass_is_known, .first = here(*what)};
          entry& own = ends_.at(*what);
          if (own.end == pending) return {.broken = rule::no_pass_is_doubled, .first = here(*what)};
          own.end = pending;
        }
      }
    }
    for (work_edge const& e : work_.into)
      if (!s_.knows(e.from) || !s_.knows(e.to))
        return {.broken = rule::every_pass_is_known,
                .first = {.what = s_.knows(e.from) ? e.to : e.from}};
    dynamic_array<std::size_t> awake;
    for (std::size_t d = p_; d-- > 0;) awake.push_back(d);
    while (!awake.empty()) {
      std::size_t const device = awake.back();
      awake.pop_back();
      advance(device, awake);
    }
    diagnosis cycle;
    for (std::size_t d = 0; d < p_; ++d) {
      if (next_[d] == s_.order[d].size()) continue;
      diagnosis const mine = stuck(d);
      if (mine.second.device == mine.first.device) return mine;  // its own order is wrong
      if (cycle.ok()) cycle = mine;
    }
    return cycle;
  }

 private:
  static constexpr tick absent = -1, pending = -2;
  static constexpr int nobody = -1;

  struct entry {
    tick end;    // absent, pending, or when it ends
    int waiter;  // first of a list through next_waiter_
  };

  template <class Index>
  static constexpr site at(std::size_t device, Index index, pass const& what) {
    return {.device = static_cast<int>(device), .index = static_cast<int>(index), .what = what};
  }

  // Runs the device's passes until one has to wait.
  constexpr void advance(std::size_t device, dynamic_array<std::size_t>& awake) {
    std::vector<time_slot>& order = s_.order[device];
    time_slot *t = order.data() + next_[device], *const last = order.data() + order.size();
    tick free = free_[device];
    entry* missing = nullptr;
    for (; t != last; ++t) {
      tick start = free;
      missing = earliest(t->what, start);
      bool const pair = t->is_pair();
      if (pair && missing == nullptr) missing = earliest(t->beside, start);
      if (missing != nullptr) break;
      t->start = start;
      free = s_.end_of(*t, static_cast<int>(device));
      finish(t->what, free, awake);
      if (pair) finish(t->beside, free, awake);
    }
    next_[device] = static_cast<std::size_t>(t - order.data());
    free_[device] = free;
    if (missing == nullptr) return;
    next_waiter_[device] = missing->waiter;
    missing->waiter = static_cast<int>(device);
  }

  // Raises `start` to when the last of the pass's inputs arrives, or returns one that is missing.
  constexpr entry* earliest(pass const& what, tick& start) {
    entry* missing = nullptr;
    for_each_input(s_.graph, what, [&](ashlar::result r, int stage, int micro_batch) {
      entry& input = ends_.at(micro_batch, stage, r);
      if (input.end == pending) missing = &input;
      if (input.end < 0) return;
      tick const arrival = are_transfers_free_ || (stage == what.stage && !s_.where.moves())
                               ? input.end
                               : input.end + transfer(what, stage, r);
      if (arrival > start) start = arrival;
    });
    if (work_.empty()) return missing;
    for_each_work_input(work_, what, [&](pass from, tick delay) {
      entry& input = ends_.at(from);
      if (input.end == pending) missing = &input;
      if (input.end >= 0 && input.end + delay > start) start = input.end + delay;
    });
    return missing;
  }

  constexpr void finish(pass const& what, tick end, dynamic_array<std::size_t>& awake) {
    entry& done = ends_.at(what);
    done.end = end;
    for (; done.waiter != nobody; done.waiter = nth(next_waiter_, done.waiter))
      awake.push_back(static_cast<std::size_t>(done.waiter));
  }

  // The time of a message from the pass's stage to another one's device, or back.
  constexpr tick transfer(pass const& what, int stage, ashlar::result r) const {
    int const route = nth(s_.route, what.micro_batch);
    return s_.cost.transfer(s_.where.device_of(route, stage, r), s_.device_of(what));
  }

  constexpr diagnosis stuck(std::size_t device) {
    time_slot const& waits = s_.order[device][next_[device]];
    site blocked = at(device, next_[device], waits.what);
    tick ignored = 0;
    if (waits.is_pair() && earliest(waits.what, ignored) == nullptr) blocked.what = waits.beside;
    diagnosis d{.broken = rule::order_has_no_cycle, .first = blocked};
    for (std::size_t other = 0; other < p_; ++other)
      for (std::size_t i = next_[other]; i < s_.order[other].size(); ++i) {
        time_slot const& t = s_.order[other][i];
        for (pass const* what = &t.what; what != nullptr; what = t.after(what)) {
          for_each_input(s_.graph, blocked.what, [&](ashlar::result r, int stage, int micro_batch) {
            if (what->micro_batch == micro_batch && what->stage == stage && result_of(what->kind) == r)
              d.second = at(other, i, *what);
          });
          for_each_work_input(work_, blocked.what, [&](pass from, tick) {
            if (*what == from) d.second = at(other, i, *what);
          });
        }
      }
    return d;
  }

  schedule& s_;
  std::size_t p_;
  work_view work_;
  bool are_transfers_free_ = false;
  pass_table<entry> ends_;
  dynamic_array<std::size_t> next_;
  dynamic_array<tick> free_;
  std::vector<int> next_waiter_;
};

// Starts every pass as early as order and dependencies allow, the first at tick 0. Keeps every device's
// order; idempotent; never longer, never more activations at once. Linear. Throws violation as
// order_walk::run() breaks rules. (Controllable Memory, section 2: squeezing
// removes the redundant bubbles of warm-up and cool-down.)
constexpr schedule squeeze(schedule s) {
  if (diagnosis const d = order_walk(s).run(); !d.ok()) refuse(d);
  return s;
}

// Keeps the orders, under other costs, and squeezes. retime(squeeze(s), s.cost) == squeeze(s). Throws as
// squeeze does.
constexpr schedule retime(schedule s, costs cost) {
  s.cost = std::move(cost);
  return squeeze(std::move(s));
}

constexpr auto squeeze() {
  return closure([](auto&& s) { return squeeze(std::forward<decltype(s)>(s)); });
}
constexpr auto retime(costs cost) {
  return closure(
      [cost = std::move(cost)](auto&& s) { return retime(std::forward<decltype(s)>(s), cost); });
}

}  // namespace ashlar
