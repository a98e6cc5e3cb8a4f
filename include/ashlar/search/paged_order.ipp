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

// Numbers of the forwards of an order, by stage and micro-batch.
class paged_order::numbers {
 public:
  explicit numbers(schedule const& s)
      : micro_batches_(s.route.size()),
        count_(static_cast<std::size_t>(s.stage_count()) * micro_batches_) {}
  std::size_t count() const { return count_; }
  std::size_t of(pass const& what) const {
    return static_cast<std::size_t>(what.stage) * micro_batches_
           + static_cast<std::size_t>(what.micro_batch);
  }

 private:
  std::size_t micro_batches_, count_;
};

// Sets 1 for each forward whose stash leaves: that does not depend on times.
inline bool paged_order::leave(schedule const& s, numbers const& number,
                               std::vector<char>& leaves) const {
  std::vector<std::size_t> reader(number.count());
  for (auto const& order : s.order)
    for (std::size_t i = 0; i < order.size(); ++i)
      if (gives_input_gradient(order[i].what.kind)) reader[number.of(order[i].what)] = i;
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    std::vector<std::size_t> here;  // stashes on the device that may leave
    std::size_t taken = 0;
    auto const take = [&] {
      if (taken < places_[d]) return ++taken, true;
      auto const last = std::max_element(
          here.begin(), here.end(), [&](std::size_t a, std::size_t b) { return reader[a] < reader[b]; });
      if (last == here.end()) return false;
      leaves[*last] = 1;
      here.erase(last);
      return true;
    };
    for (time_slot const& t : s.order[d]) {
      std::size_t const own = number.of(t.what);
      if (t.what.kind == pass_kind::forward) {
        if (!take()) return false;
        here.push_back(own);
      } else if (gives_input_gradient(t.what.kind)) {
        if (leaves[own] != 0 && !take()) return false;
        std::erase(here, own);
      }
      if (gives_weight_gradient(t.what.kind)) --taken;
    }
  }
  return true;
}

// Goes once through the orders: any device that can take its next pass does. A stash leaves right after
// its forward, and the one needed first comes back first, as place_copies() has it. Each start is made
// of sums, maxima and the least of free places, so no start is later if copies are shorter.
class paged_order::walk {
 public:
  walk(paged_order const& all, schedule& s, numbers const& number, std::vector<char> const& leaves)
      : all_(all),
        s_(s),
        number_(number),
        leaves_(leaves),
        gone_(number.count(), 0),
        ends_(static_cast<std::size_t>(results) * number.count(), unknown) {
    for (std::size_t const places : all_.places_) devices_.push_back({std::vector<tick>(places, 0)});
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

  struct device {
    std::vector<tick> places = {};  // those without a stash: when each is free
    std::size_t next = 0;
    tick free = 0, out_free = 0, in_free = 0;

    // The place that is free first, and when that is.
    tick take_place() {
      auto const first = std::min_element(places.begin(), places.end());
      tick const since = *first;
      *first = places.back();
      places.pop_back();
      return since;
    }
  };

  tick& end_of(result r, int stage, int micro_batch) {
    return ends_[static_cast<std::size_t>(r) * number_.count()
                 + number_.of({pass_kind::forward, stage, micro_batch})];
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

  bool take(device& on, time_slot& t, int d) {
    std::size_t const own = number_.of(t.what);
    tick const copy = all_.copies_[static_cast<std::size_t>(t.what.stage)];
    bool const leaves = leaves_[own] != 0;
    if (t.what.kind == pass_kind::forward) {
      t.start = std::max(t.start, on.take_place());
    } else if (gives_input_gradient(t.what.kind) && leaves) {
      on.in_free = saturating_sum(std::max({on.take_place(), gone_[own], on.in_free}), copy);
      t.start = std::max(t.start, on.in_free);
    }
    tick const end = s_.end_of(t, d);
    if (end >= max_tick / 2) return false;
    if (t.what.kind == pass_kind::forward && leaves) {
      on.out_free = gone_[own] = saturating_sum(std::max(end, on.out_free), copy);
      on.places.push_back(gone_[own]);
    }
    if (gives_weight_gradient(t.what.kind)) on.places.push_back(end);
    end_of(result_of(t.what.kind), t.what.stage, t.what.micro_batch) = end;
    on.free = end;
    ++on.next;
    return true;
  }

  paged_order const& all_;
  schedule& s_;
  numbers const& number_;
  std::vector<char> const& leaves_;
  std::vector<tick> gone_;  // by forward that leaves: on the host from then on
  std::vector<tick> ends_;  // by result, stage and micro-batch
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
  for (std::size_t d = 0; d < s.order.size(); ++d)
    for (time_slot const& t : s.order[d])
      is_possible_ = is_possible_ && !t.is_pair()
                     && (s.end_of(t, static_cast<int>(d)) > t.start
                         || !(t.what.kind == pass_kind::forward || gives_input_gradient(t.what.kind)));
  for (int d = 0; d < s.device_count(); ++d) {
    byte_count const room = limit.free_on(s.where, d) / largest;
    is_possible_ = is_possible_ && room >= 1;
    places_.push_back(static_cast<std::size_t>(std::clamp(
        room, byte_count{0}, static_cast<byte_count>(s.order[static_cast<std::size_t>(d)].size()))));
  }
}

ASHLAR_INLINE bool paged_order::time(schedule& s, std::vector<pass>& away) const {
  away.clear();
  numbers const number(s);
  std::vector<char> leaves(number.count(), 0);
  if (!leave(s, number, leaves) || !walk(*this, s, number, leaves).run()) return false;
  for (auto const& order : s.order)
    for (time_slot const& t : order)
      if (t.what.kind == pass_kind::forward && leaves[number.of(t.what)] != 0) away.push_back(t.what);
  return true;
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
