// Definitions of paged_order.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/splitmix.hpp>
#include <ashlar/model/dependencies.hpp>
#include <ashlar/search/offload.hpp>
#include <ashlar/search/paged_order.hpp>

#include <algorithm>
#include <utility>

namespace ashlar {

// One way through the orders: whichever device can take its next pass does.
class paged_order::walk {
 public:
  walk(paged_order const& all, schedule& s, std::vector<pass>& away)
      : all_(all),
        s_(s),
        away_(away),
        values_(static_cast<std::size_t>(s.stage_count()) * s.route.size()),
        ends_(static_cast<std::size_t>(results) * values_.size(), unknown) {
    for (std::size_t d = 0; d < s.order.size(); ++d) {
      devices_.push_back({.places = std::vector<tick>(all.places_[d], 0)});
      for (std::size_t i = 0; i < s.order[d].size(); ++i)
        if (gives_input_gradient(s.order[d][i].what.kind)) of(s.order[d][i].what).reader = i;
    }
  }

  bool run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t d = 0; d < devices_.size(); ++d)
        while (devices_[d].next < s_.order[d].size()) {
          time_slot& t = s_.order[d][devices_[d].next];
          if (!inputs_are_there(t, static_cast<int>(d))) break;
          if (!take(devices_[d], t, static_cast<int>(d))) return false;
          moved = true;
        }
    }
    for (std::size_t d = 0; d < devices_.size(); ++d)
      if (devices_[d].next < s_.order[d].size()) return false;
    return true;
  }

 private:
  static constexpr tick unknown = -1;
  static constexpr std::size_t nowhere = ~std::size_t{0};

  struct value {
    std::size_t reader = nowhere;  // position of the backward in its device's order
    std::size_t place = nowhere;   // nowhere: on the host
    tick made = 0, gone = 0;       // on the host from then on
  };
  struct device {
    std::vector<tick> places = {};  // when each is free, max_tick: while it holds a stash
    std::vector<pass> held = {};    // stashes on the device that may leave
    std::size_t next = 0;
    tick free = 0, out_free = 0, in_free = 0;
  };

  std::size_t number(pass const& what) const {
    return static_cast<std::size_t>(what.stage) * s_.route.size()
           + static_cast<std::size_t>(what.micro_batch);
  }
  value& of(pass const& what) { return values_[number(what)]; }
  tick& end_of(result r, int stage, int micro_batch) {
    return ends_[static_cast<std::size_t>(r) * values_.size()
                 + number({pass_kind::forward, stage, micro_batch})];
  }

  bool inputs_are_there(time_slot& t, int d) {
    bool are_there = true;
    t.start = devices_[static_cast<std::size_t>(d)].free;
    for_each_input(s_.graph, t.what, [&](result r, int stage, int micro_batch) {
      if (r == result::recomputed) return;
      tick const end = end_of(r, stage, micro_batch);
      are_there = are_there && end != unknown;
      t.start = std::max(
          t.start, end + s_.cost.transfer(s_.device_of({pass_kind::forward, stage, micro_batch}), d));
    });
    return are_there;
  }

  // A place, and since when it is free: the earliest, or that of the stash that is needed last.
  bool find_place(device& on, std::size_t& place, tick& since) {
    auto const first = std::min_element(on.places.begin(), on.places.end());
    if (*first == max_tick) {
      auto const last =
          std::max_element(on.held.begin(), on.held.end(),
                           [&](pass const& a, pass const& b) { return of(a).reader < of(b).reader; });
      if (last == on.held.end()) return false;
      value& leaves = of(*last);
      tick const out = std::max(leaves.made, on.out_free);
      on.out_free = leaves.gone = out + all_.copies_[static_cast<std::size_t>(last->stage)];
      on.places[leaves.place] = leaves.gone;
      leaves.place = nowhere;
      away_.push_back(*last);
      on.held.erase(last);
      return find_place(on, place, since);
    }
    place = static_cast<std::size_t>(first - on.places.begin());
    since = std::exchange(*first, max_tick);
    return true;
  }

  bool take(device& on, time_slot& t, int d) {
    pass const forward{pass_kind::forward, t.what.stage, t.what.micro_batch};
    value& own = of(forward);
    tick since = 0;
    if (t.what.kind == pass_kind::forward) {
      if (!find_place(on, own.place, since)) return false;
      t.start = std::max(t.start, since);
    } else if (gives_input_gradient(t.what.kind)) {
      if (own.place == nowhere) {
        if (!find_place(on, own.place, since)) return false;
        tick const in = std::max({since, own.gone, on.in_free});
        on.in_free = in + all_.copies_[static_cast<std::size_t>(t.what.stage)];
        t.start = std::max(t.start, on.in_free);
      }
      std::erase(on.held, forward);
    }
    tick const end = s_.end_of(t, d);
    if (end >= max_tick / 2) return false;
    if (t.what.kind == pass_kind::forward) {
      own.made = end;
      on.held.push_back(forward);
    }
    if (gives_weight_gradient(t.what.kind)) on.places[own.place] = end;
    end_of(result_of(t.what.kind), t.what.stage, t.what.micro_batch) = end;
    on.free = end;
    ++on.next;
    return true;
  }

  paged_order const& all_;
  schedule& s_;
  std::vector<pass>& away_;
  std::vector<value> values_;  // by stage and micro-batch
  std::vector<tick> ends_;     // by result, stage and micro-batch
  std::vector<device> devices_;
};

ASHLAR_INLINE paged_order::paged_order(schedule const& s, memory_limit const& limit,
                                       host_link const& host)
    : copies_(copy_times(limit.memory, s.stage_count(), host)) {
  is_possible_ = s.work.empty() && s.mode == execution_mode::training;
  byte_count largest = 1;
  for (stage_memory const& own : limit.memory.stages) {
    is_possible_ = is_possible_ && !own.recomputes() && own.weight_stash == 0;
    largest = std::max(largest, own.stash);
  }
  for (auto const& order : s.order)
    for (time_slot const& t : order) is_possible_ = is_possible_ && !t.is_pair();
  for (int d = 0; d < s.device_count(); ++d) {
    byte_count const room = limit.free_on(s.where, d) / largest;
    is_possible_ = is_possible_ && room >= 1;
    places_.push_back(static_cast<std::size_t>(std::clamp(
        room, byte_count{0}, static_cast<byte_count>(s.order[static_cast<std::size_t>(d)].size()))));
  }
}

ASHLAR_INLINE bool paged_order::time(schedule& s, std::vector<pass>& away) const {
  away.clear();
  return walk(*this, s, away).run();
}

ASHLAR_INLINE bool improve_paged(paged_order const& paging, schedule& s, std::vector<pass>& away,
                                 std::int64_t moves, std::uint64_t seed,
                                 function_ref<tick(schedule const&)> length) {
  if (!paging.is_possible()) return false;
  schedule now = s;
  bool is_found = paging.time(now, away);
  std::vector<pass> leaving;
  tick least = is_found ? length(now) : max_tick;
  if (is_found) s = now;
  for (std::int64_t k = 0; k < moves; ++k) {
    auto const draw = [&](std::size_t below) {
      seed += splitmix_step;
      return static_cast<std::size_t>(mixed(seed) % below);
    };
    schedule other = is_found ? s : now;
    auto& order = other.order[draw(other.order.size())];
    if (order.size() < 2) continue;
    std::size_t const from = draw(order.size()), to = draw(order.size());
    time_slot const moved = order[from];
    order.erase(order.begin() + static_cast<std::ptrdiff_t>(from));
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(to), moved);
    if (!paging.time(other, leaving)) continue;
    tick const reached = length(other);
    if (is_found && reached > least) continue;
    is_found = true;
    least = reached;
    s = std::move(other);
    away.swap(leaving);
  }
  return is_found;
}

}  // namespace ashlar
