// A schedule in two directions folded in the middle: half the devices, each with the work of a device
// and its mirror image's.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/pipe.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// The micro-batch of the same rank on the other route, for each micro-batch of a schedule with two
// routes; -1 if there is none.
constexpr std::vector<int> counterparts(schedule const& s) {
  std::vector<int> other(s.route.size(), -1);
  std::size_t up = 0;
  for (std::size_t down = 0; down < s.route.size(); ++down) {
    if (s.route[down] != 0) continue;
    while (up < s.route.size() && s.route[up] != 1) ++up;
    if (up == s.route.size()) break;
    other[down] = static_cast<int>(up);
    other[up++] = static_cast<int>(down);
  }
  return other;
}

// Whether the schedule has two routes and is its own mirror image when they change places: at any time,
// device p - 1 - d runs a stage of one route when device d runs that stage of the other. A schedule with
// work is not.
constexpr bool is_mirror_symmetric(schedule const& s) {
  if (s.where.route_count() != 2 || s.where.moves() || !s.work.empty()
      || s.order.size() != static_cast<std::size_t>(s.device_count()))
    return false;
  std::vector<int> const other = counterparts(s);
  for (int k : other)
    if (k < 0) return false;
  std::size_t const last = s.order.size() - 1;
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    if (s.order[d].size() != s.order[last - d].size()) return false;
    for (std::size_t i = 0; i < s.order[d].size(); ++i) {
      time_slot image = s.order[last - d][i];
      for (pass* what : {&image.what, image.is_pair() ? &image.beside : nullptr}) {
        if (what == nullptr) continue;
        if (what->micro_batch < 0 || what->micro_batch >= s.micro_batch_count()) return false;
        what->micro_batch = nth(other, what->micro_batch);
      }
      if (image != s.order[d][i]) return false;
    }
  }
  for (int stage = 0; stage < s.stage_count(); ++stage)
    if (s.where.device_of(0, stage) != static_cast<int>(last) - s.where.device_of(1, stage))
      return false;
  return true;
}

// Folds a schedule onto the first half of the devices, with the micro-batches of both routes on one: the
// second half did at the same speed, for one route, the passes that the first half did for the other. A
// linear placement becomes a V, a V a wave that goes down and up twice. Keeps all starts. Throws
// violation{rule::halves_mirror_each_other} unless the schedule is mirror symmetric on an even number of
// devices, none of whose links is an exception, with micro-batches that are alike. Linear.
constexpr schedule fold_in_half(schedule s) {
  machine const& on = s.cost.on;
  if (!is_mirror_symmetric(s) || s.device_count() % 2 != 0 || s.cost.passes.micro_batches() != 0
      || !on.links.exceptions.empty() || mirrored(on, s.device_count()).speeds != on.speeds)
    refuse({.broken = rule::halves_mirror_each_other, .number = s.device_count()});
  std::vector<int> rank;
  int ranks[2] = {0, 0};
  for (int route : s.route) rank.push_back(ranks[route]++);
  int const half = s.device_count() / 2;
  s.where = make_placement(devices{half}, stages{s.stage_count()}, [&](int stage) {
    int const d = s.where.device_of(0, stage);
    return d < half ? d : 2 * half - 1 - d;
  });
  s.route = std::vector<int>(s.route.size() / 2, 0);
  while (s.order.size() > static_cast<std::size_t>(half)) s.order.pop_back();
  s.cost.on.speeds.resize(on.speeds.size() / 2);
  for (auto& order : s.order)
    for (time_slot& t : order) {
      t.what.micro_batch = nth(rank, t.what.micro_batch);
      if (t.is_pair()) t.beside.micro_batch = nth(rank, t.beside.micro_batch);
    }
  return s;
}

constexpr auto fold_in_half() {
  return closure([](auto&& s) { return fold_in_half(std::forward<decltype(s)>(s)); });
}

}  // namespace ashlar
