// Definitions of offload.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/held_memory.hpp>
#include <ashlar/search/host_ladder.hpp>
#include <ashlar/search/offload.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ashlar::search_detail {

// The memory that a device holds over time, and the values that could leave.
class device_stays {
 public:
  device_stays(schedule const& s, pass_ends const& ends, held_memory& held, memory_model const& memory,
               std::vector<tick> const& copies, int device)
      : memory_(memory), resident_(memory.resident_on(s.where, device)) {
    auto const number = [&](pass const& what) {
      return static_cast<std::size_t>(what.stage) * s.route.size()
             + static_cast<std::size_t>(what.micro_batch);
    };
    std::vector<char> is_read(static_cast<std::size_t>(s.stage_count()) * s.route.size(), 0);
    for (timed_pass const t : each_pass(s.order[static_cast<std::size_t>(device)])) {
      add(t.start, held.taken_by(t.what));
      add(s.end_of(t, device), -held.given_back_by(t.what));
      if (is_part(t.what) || t.what.kind == pass_kind::forward || is_read[number(t.what)] != 0) continue;
      is_read[number(t.what)] = 1;
      pass const forward{pass_kind::forward, t.what.stage, t.what.micro_batch};
      if (kept(forward) == 0 || (!s.work.empty() && s.work.view().readers(forward).size() > 0)) continue;
      tick const copy = copies[static_cast<std::size_t>(t.what.stage)], made = ends.of(forward);
      if (copy > (t.start - made) / 2)
        hurried_.push_back(forward);
      else if (t.start > made)
        candidates_.push_back({.forward = forward, .made = made, .needed = t.start, .copy = copy});
    }
    auto const longer = [](absence const& a, absence const& b) {
      return a.needed - a.made > b.needed - b.made;
    };
    std::stable_sort(candidates_.begin(), candidates_.end(), longer);
    // Every other value of one lifespan comes first: half of them are half at any time.
    for (auto first = candidates_.begin(); first != candidates_.end();) {
      auto const last = std::upper_bound(first, candidates_.end(), *first, longer);
      std::vector<absence> turns;
      for (int odd : {0, 1})
        for (auto each = first + std::min<std::ptrdiff_t>(odd, last - first); each < last;
             each += std::min<std::ptrdiff_t>(2, last - each))
          turns.push_back(*each);
      first = std::copy(turns.begin(), turns.end(), first);
    }
  }

  // Whether the device can be brought within the budget.
  bool fit(byte_count budget) {
    while (highest().bytes > budget)
      if (!relieve()) return false;
    return true;
  }

  // Whether it could be, if no copy were in another's way.
  bool could_fit(byte_count budget) const {
    std::vector<change> changes = changes_;
    for (absence const& a : candidates_) {
      changes.push_back({a.made + a.copy, -kept(a.forward)});
      changes.push_back({a.needed - a.copy, kept(a.forward)});
    }
    return highest_of(changes, resident_).bytes <= budget;
  }

  // Whether these, which are the device's, can leave and come back in time.
  bool send(std::vector<pass> const& forwards) {
    for (pass const& what : hurried_)
      if (std::find(forwards.begin(), forwards.end(), what) != forwards.end()) return false;
    for (absence const& a : candidates_)
      if (std::find(forwards.begin(), forwards.end(), a.forward) != forwards.end()) away_.push_back(a);
    place_copies(away_);
    return away_.size() == forwards.size()
           && std::all_of(away_.begin(), away_.end(), [](absence const& a) { return a.is_in_time(); });
  }

  // Lets as many leave as may: first those that help where most is held.
  void fill(std::size_t count) {
    while (away_.size() < count && relieve()) {
    }
    for (absence const& a : candidates_)
      if (away_.size() < count) try_add(a, nullptr);
  }

  dynamic_array<absence> const& away() const { return away_; }
  byte_count peak() const { return highest().bytes; }
  byte_count host_peak() const {
    std::vector<change> changes;
    for (absence const& a : away_) {
      changes.push_back({a.out, kept(a.forward)});
      changes.push_back({a.back(), -kept(a.forward)});
    }
    return highest_of(changes, 0).bytes;
  }

 private:
  struct change {
    tick time;
    byte_count bytes;
  };
  struct moment {
    tick time = 0;
    byte_count bytes = 0;
  };

  // Lets one more leave that is away at the first moment at which most is held; false: none can.
  bool relieve() {
    moment const most = highest();
    auto const helps = std::find_if(candidates_.begin(), candidates_.end(), [&](absence const& a) {
      return a.made + a.copy <= most.time && most.time < a.needed - a.copy && try_add(a, &most.time);
    });
    if (helps == candidates_.end()) return false;
    candidates_.erase(helps);
    return true;
  }

  byte_count kept(pass const& forward) const {
    return memory_.of(forward.stage, forward.micro_batch).kept_by_forward();
  }
  void add(tick time, byte_count bytes) {
    if (bytes != 0) changes_.push_back({time, bytes});
  }

  // Adds it if no pass waits then, and at `when` it is away.
  bool try_add(absence const& a, tick const* when) {
    dynamic_array<absence> more = away_;
    more.push_back(a);
    place_copies(more);
    for (absence const& each : more) {
      if (!each.is_in_time()) return false;
      if (when != nullptr && each.forward == a.forward && (each.gone() > *when || *when >= each.in))
        return false;
    }
    away_.swap(more);
    return true;
  }

  // The first moment at which most is held. Values that leave make room for those that come.
  static moment highest_of(std::vector<change>& changes, byte_count held) {
    std::sort(changes.begin(), changes.end(), [](change const& a, change const& b) {
      return a.time != b.time ? a.time < b.time : a.bytes < b.bytes;
    });
    moment most{changes.empty() ? 0 : changes.front().time, held};
    for (change const& c : changes) {
      held = saturating_sum(held, c.bytes);
      if (held > most.bytes) most = {c.time, held};
    }
    return most;
  }
  moment highest() const {
    std::vector<change> changes = changes_;
    for (absence const& a : away_) {
      changes.push_back({a.gone(), -kept(a.forward)});
      changes.push_back({a.in, kept(a.forward)});
    }
    return highest_of(changes, resident_);
  }

  memory_model const& memory_;
  byte_count resident_;
  std::vector<change> changes_;
  std::vector<absence> candidates_;  // the longest first
  std::vector<pass> hurried_;        // forwards whose values are needed before they could be back
  dynamic_array<absence> away_;
};

inline void must_have_budgets(memory_limit const& limit, int device_count) {
  if (limit.budget.size() != 1 && static_cast<int>(limit.budget.size()) != device_count)
    refuse(wrong_size(table::device_budgets, limit.budget.size(), device_count));
}

// choose(stays, device) says whether the device is within its limit.
template <class Choose>
offload_choice choose_offload(schedule const& s, memory_model const& memory, host_link const& host,
                              Choose choose) {
  pass_ends ends = no_ends(s);
  if (diagnosis const d = check(s, ends); !d.ok()) refuse(d);
  if (diagnosis const d = check(memory, s.stage_count(), s.micro_batch_count()); !d.ok()) refuse(d);
  offload_choice c{.offload = {.forwards = {}, .copy = copy_times(memory, s.stage_count(), host)}};
  held_memory held(s, memory, s.mode);
  for (int d = 0; d < s.device_count(); ++d) {
    device_stays stays(s, ends, held, memory, c.offload.copy, d);
    c.fits = choose(stays, d) && c.fits;
    for (absence const& a : stays.away()) c.offload.forwards.push_back(a.forward);
    c.peak.push_back(stays.peak());
    c.host_peak.push_back(stays.host_peak());
  }
  return c;
}

}  // namespace ashlar::search_detail

namespace ashlar {

ASHLAR_INLINE std::vector<tick> copy_times(memory_model const& memory, int stage_count,
                                           host_link const& host) {
  if (stage_count < 1) refuse({.broken = rule::counts_are_positive, .number = stage_count});
  if (diagnosis const d = at_most(parameter::stage_count, stage_count, most_stages); !d.ok()) refuse(d);
  if (diagnosis const d = check(memory, stage_count); !d.ok()) refuse(d);
  if (diagnosis const d = check(host); !d.ok()) refuse(d);
  std::vector<tick> times;
  for (int stage = 0; stage < stage_count; ++stage) {
    tick longest = 0;
    for (int k = 0; k < memory.period(); ++k)
      longest = std::max(longest, host.time_of(memory.of(stage, k).kept_by_forward()));
    times.push_back(std::min(longest, max_tick));
  }
  return times;
}

ASHLAR_INLINE offload_choice selective_offload(schedule const& s, memory_limit const& limit,
                                               host_link const& host) {
  search_detail::must_have_budgets(limit, s.device_count());
  return search_detail::choose_offload(
      s, limit.memory, host,
      [&](search_detail::device_stays& stays, int d) { return stays.fit(limit.budget_of(d)); });
}

ASHLAR_INLINE offload_choice steady_offload(schedule const& s, memory_limit const& limit,
                                            host_link const& host) {
  static_cast<void>(offload_exactly(s, limit, host, {}));  // throws for invalid arguments
  host_ladder const ladder(limit.memory, s.stage_count(), host);
  auto const could_fit = [&](host_link const& slower) {
    return search_detail::choose_offload(s, limit.memory, slower,
                                         [&](search_detail::device_stays& stays, int d) {
                                           return stays.could_fit(limit.budget_of(d));
                                         })
        .fits;
  };
  offload_choice none{.offload = {}, .peak = {}, .host_peak = {}, .fits = false};
  for (tick const ticks : ladder.rungs(ladder.slowest(), 5)) {
    host_link const slower = ladder.at(ticks);
    if (!could_fit(slower)) return none;
    std::vector<pass> const away = selective_offload(s, limit, slower).offload.forwards;
    if (offload_exactly(s, limit, slower, away).fits) return offload_exactly(s, limit, host, away);
  }
  return none;
}

ASHLAR_INLINE offload_choice offload_exactly(schedule const& s, memory_limit const& limit,
                                             host_link const& host, std::vector<pass> const& forwards) {
  search_detail::must_have_budgets(limit, s.device_count());
  if (diagnosis const d = check(s); !d.ok()) refuse(d);
  if (diagnosis const d = check(offload_options{.forwards = forwards}, s); !d.ok()) refuse(d);
  return search_detail::choose_offload(s, limit.memory, host,
                                       [&](search_detail::device_stays& stays, int d) {
                                         std::vector<pass> own;
                                         for (pass const& forward : forwards)
                                           if (s.device_of(forward) == d) own.push_back(forward);
                                         return stays.send(own) && stays.peak() <= limit.budget_of(d);
                                       });
}

ASHLAR_INLINE offload_choice offload_share(schedule const& s, memory_model const& memory,
                                           host_link const& host, int percent) {
  return search_detail::choose_offload(s, memory, host, [&](search_detail::device_stays& stays, int d) {
    std::size_t forwards = 0;
    for (timed_pass const t : each_pass(s.order[static_cast<std::size_t>(d)]))
      forwards += t.what.kind == pass_kind::forward;
    stays.fill(forwards * static_cast<std::size_t>(std::clamp(percent, 0, 100)) / 100);
    return true;
  });
}

}  // namespace ashlar
