// A schedule that goes on with fewer devices, or with slower ones: some stages change places.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/machine.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/relocate.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// The devices that are left without those of a list, ascending. Throws violation:
// rule::every_stage_has_a_device for one that does not exist, rule::counts_are_positive if none is left,
// rule::parameter_is_at_most for more than most_stages.
constexpr std::vector<int> devices_left(int count, std::vector<int> const& lost) {
  must_be(at_most(parameter::device_count, count, most_stages));
  for (int const device : lost)
    if (device < 0 || device >= count)
      refuse({.broken = rule::every_stage_has_a_device, .first = {.device = device}});
  std::vector<int> left;
  for (int d = 0; d < count; ++d)
    if (!contains(lost, d)) left.push_back(d);
  if (left.empty()) refuse({.broken = rule::counts_are_positive});
  return left;
}

// The hardware of the devices that are left, which are numbered anew. Links that are no longer as their
// numbers say become exceptions. O(devices^2).
constexpr machine machine_of(machine const& on, std::vector<int> const& left) {
  machine made = on;
  made.links.exceptions.clear();
  made.speeds.clear();
  int const count = static_cast<int>(left.size());
  for (int a = 0; a < count; ++a) {
    if (!on.speeds.empty()) made.speeds.push_back(nth(on.speeds, nth(left, a)));
    for (int b = 0; b < count; ++b)
      if (link_speed const& is = on.links.link(nth(left, a), nth(left, b));
          a != b && is != made.links.link(a, b))
        made.links.exceptions.push_back({a, b, is});
  }
  return made;
}

// How stages move.
struct move_rule {
  int more = 0;  // stages that may move besides those of lost devices, if each makes the step shorter
  // Whether a stage goes to a device that has its weights for another route, if there is one.
  bool to_holders = false;

  friend constexpr bool operator==(move_rule const&, move_rule const&) = default;
};

namespace without_devices_detail {

// A schedule whose stages change places, one after the other.
class stage_mover {
 public:
  // `home`: the devices of the stages, by route; no_home where a stage must move.
  static constexpr int no_home = -1;
  constexpr stage_mover(schedule s, int device_count, std::vector<std::vector<int>> home)
      : s_(std::move(s)), count_(device_count), home_(std::move(home)) {}

  // Puts stages without a home, one after the other, where the step is shortest with those that have one
  // so far; then moves others while that makes it shorter, at most `more` of them.
  constexpr schedule run(move_rule const& rule) {
    for (auto& route : home_)
      for (std::size_t stage = 0; stage < route.size(); ++stage)
        if (route[stage] == no_home) settle(route[stage], static_cast<int>(stage), rule.to_holders);
    schedule best = relocate(s_, placement(devices{count_}, home_));
    tick length = makespan(best);
    for (int moved = 0; moved < rule.more; ++moved) {
      int* chosen = nullptr;
      int to = 0;
      for (auto& route : home_)
        for (int& home : route) {
          int const old = home;
          for (home = 0; home < count_; ++home)
            if (home != old)
              if (schedule other = relocate(s_, placement(devices{count_}, home_));
                  makespan(other) < length) {
                length = makespan(other);
                best = std::move(other);
                chosen = &home;
                to = home;
              }
          home = old;
        }
      if (chosen == nullptr) break;
      *chosen = to;
    }
    return best;
  }

 private:
  // All other stages without a home are, for now, on devices of their own.
  constexpr void settle(int& home, int stage, bool to_holders) {
    bool has_holder = false;
    for (int d = 0; d < count_; ++d) has_holder = has_holder || holds(d, stage, &home);
    int best = 0;
    tick shortest = max_tick;
    bool best_has_it = false;
    for (int d = 0; d < count_; ++d) {
      bool const has_it = holds(d, stage, &home);
      if (to_holders && has_holder && !has_it) continue;
      home = d;
      tick const length = makespan(relocate(with_spares(), placed_with_spares()));
      if (length < shortest || (length == shortest && has_it && !best_has_it)) {
        best = d;
        shortest = length;
        best_has_it = has_it;
      }
    }
    home = best;
  }
  // Whether another route has the stage there: its weights are there already.
  constexpr bool holds(int device, int stage, int const* but) const {
    for (auto const& route : home_)
      if (&nth(route, stage) != but && nth(route, stage) == device) return true;
    return false;
  }
  constexpr int spares() const {
    int count = 0;
    for (auto const& route : home_)
      for (int const home : route) count += home == no_home;
    return count;
  }
  constexpr schedule with_spares() const {
    schedule s = s_;
    if (!s.cost.on.speeds.empty())
      for (int n = spares(); n > 0; --n) s.cost.on.speeds.push_back(full_speed);
    return s;
  }
  constexpr placement placed_with_spares() const {
    int next = count_;
    std::vector<std::vector<int>> all = home_;
    for (auto& route : all)
      for (int& home : route)
        if (home == no_home) home = next++;
    return placement(devices{next}, all);
  }

  schedule s_;
  int count_;
  std::vector<std::vector<int>> home_;
};

constexpr std::vector<std::vector<int>> homes(placement const& where,
                                              std::vector<int> const& new_number) {
  std::vector<std::vector<int>> all;
  for (int route = 0; route < where.route_count(); ++route) {
    all.push_back({});
    for (int stage = 0; stage < where.stage_count(); ++stage)
      all.back().push_back(nth(new_number, where.device_of(route, stage)));
  }
  return all;
}

}  // namespace without_devices_detail

// Goes on without the devices of a list. The others keep their stages, in the order of their numbers,
// and their speeds and links. Each stage that has lost its device moves, one after the other, to the
// device on which the step is shortest; of equal ones, to one that has its weights already for another
// route, or always to one such, by the rule. Then more stages move, if the rule says so. The order of
// passes stays, as relocate() keeps it; so each gradient is summed in the same order if one device held
// it. With a route for each micro-batch, `to_holders` is the rerouting of ReCycle (Gandhi et al., 2024),
// in which the other pipelines share the work of the one that has lost a device. Throws
// violation as devices_left() and relocate() do. Takes relocate() devices times for each stage that has
// to move, and stages times devices times for each one more.
constexpr schedule without_devices(schedule s, std::vector<int> const& lost,
                                   move_rule const& rule = {}) {
  must_be(check(s.cost, s.stage_count(), s.device_count(), s.micro_batch_count(),
                s.graph.sequence_chunks()));
  std::vector<int> const left = devices_left(s.device_count(), lost);
  std::vector<int> number(static_cast<std::size_t>(s.device_count()),
                          without_devices_detail::stage_mover::no_home);
  for (std::size_t d = 0; d < left.size(); ++d) nth(number, left[d]) = static_cast<int>(d);
  s.cost.on = machine_of(s.cost.on, left);
  auto homes = without_devices_detail::homes(s.where, number);
  return without_devices_detail::stage_mover(std::move(s), static_cast<int>(left.size()),
                                             std::move(homes))
      .run(rule);
}

}  // namespace ashlar
