// A placement: for each route, a mapping stage -> device, of backwards perhaps another one.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/list_view.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/core/pipe.hpp>
#include <ashlar/core/refuse.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ashlar {

// Most placements have one route. Bidirectional ones have two or more, so that a stage has replicas and
// each micro-batch takes one of the routes. A stage is on one device for all its passes, unless it
// moves: then its forwards are on one device, and its recomputes and backwards on another.
class placement {
 public:
  constexpr placement() = default;

  // `routes`: a list of devices by stage for each route, all of the same length.
  // Throws violation: rule::counts_are_positive, rule::parameter_is_at_most for more than most_stages of
  // either, rule::tables_agree, rule::every_stage_has_a_device.
  constexpr placement(devices count, std::vector<std::vector<int>> const& routes)
      : devices_(count.value) {
    if (devices_ < 1) refuse({.broken = rule::counts_are_positive, .number = devices_});
    must_be(at_most(parameter::device_count, devices_, most_stages));
    if (routes.empty() || routes[0].empty()) refuse({.broken = rule::counts_are_positive});
    stages_ = static_cast<int>(routes[0].size());
    add(routes);
  }

  // Takes a second list for each route, with the devices of the backwards. Where none differs, the
  // placement equals that of one list. Throws as above, and rule::tables_agree for another number of
  // routes.
  constexpr placement(devices count, std::vector<std::vector<int>> const& forwards,
                      std::vector<std::vector<int>> const& backwards)
      : placement(count, forwards) {
    if (backwards.size() != forwards.size())
      refuse(wrong_size(table::routes_of_workload, backwards.size(),
                        static_cast<std::int64_t>(forwards.size())));
    if (backwards == forwards) return;
    add(backwards);
    moves_ = true;
  }

  constexpr int device_count() const { return devices_; }
  constexpr int stage_count() const { return stages_; }
  // Zero for a placement without stages.
  constexpr int route_count() const {
    return stages_ == 0 ? 0 : static_cast<int>(table_.size()) / stages_ / (moves_ ? 2 : 1);
  }

  // Whether a stage has backwards on another device than its forwards.
  constexpr bool moves() const { return moves_; }

  // The device of a stage on a route, of its forwards if it moves. Both are indices within range. They
  // are plain ints, because this is read once per pass.
  constexpr int device_of(int route, int stage) const { return nth(table_, route * stages_ + stage); }

  // The device of its recomputes and backwards.
  constexpr int backward_device_of(int route, int stage) const {
    int const at = route * stages_ + stage;
    return nth(table_, moves_ ? at + static_cast<int>(table_.size() / 2) : at);
  }
  // The device of the pass that gives a result.
  constexpr int device_of(int route, int stage, result r) const {
    return moves_ && r != result::activation ? backward_device_of(route, stage)
                                             : device_of(route, stage);
  }
  // Whether passes of the stage run on the device on that route.
  constexpr bool has(int route, int stage, int device) const {
    return device_of(route, stage) == device || (moves_ && backward_device_of(route, stage) == device);
  }

  // Devices by route, then stage; then those of backwards, if stages move. Valid while the placement is.
  constexpr list_view<int> table() const { return view_of(table_); }

  // Mirrors devices: d becomes p - 1 - d. mirror(mirror(x)) == x.
  friend constexpr placement mirror(placement p) {
    for (int& device : p.table_) device = p.devices_ - 1 - device;
    return p;
  }

  // Joins the routes of `a` and then those of `b`, over the same devices and stages. Throws
  // violation{rule::tables_agree} for others, and rule::moving_stages_are_whole where stages move.
  friend constexpr placement overlay(placement a, placement const& b) {
    if (a.devices_ != b.devices_)
      refuse(wrong_size(table::devices_of_placement, b.devices_, a.devices_));
    if (a.stages_ != b.stages_) refuse(wrong_size(table::stages_of_placement, b.stages_, a.stages_));
    if (a.moves_ || b.moves_) refuse({.broken = rule::moving_stages_are_whole});
    for (int device : b.table_) a.table_.push_back(device);
    return a;
  }

  friend constexpr bool operator==(placement const&, placement const&) = default;

 private:
  constexpr void add(std::vector<std::vector<int>> const& routes) {
    for (std::vector<int> const& route : routes) {
      if (route.size() != routes[0].size() || static_cast<int>(route.size()) != stages_)
        refuse(wrong_size(table::stages_of_route, route.size(), stages_));
      for (int device : route) {
        if (device < 0 || device >= devices_)
          refuse({.broken = rule::every_stage_has_a_device, .first = {.device = device}});
        table_.push_back(device);
      }
    }
  }

  int devices_ = 0;
  int stages_ = 0;
  bool moves_ = false;
  dynamic_array<int> table_;  // by route, then stage, of forwards and then of backwards that differ
};

// The number of stages with `each` on a device. Throws violation: rule::counts_are_positive,
// rule::parameter_is_at_most for more than a placement can have.
constexpr stages stages_of(devices p, int each) {
  if (p.value < 1 || each < 1)
    refuse({.broken = rule::counts_are_positive, .number = p.value < 1 ? p.value : each});
  must_be(at_most(parameter::chunk_count, each, most_stages / p.value));
  return stages{p.value * each};
}

// One route whose stage s lives on device_of(s). Throws violation: rule::parameter_is_at_most for more
// than most_stages, and as the constructor does.
template <class DeviceOf>
constexpr placement make_placement(devices p, stages count, DeviceOf device_of) {
  must_be(at_most(parameter::stage_count, count.value, most_stages));
  std::vector<int> route;
  for (int s = 0; s < count.value; ++s) route.push_back(device_of(s));
  return placement(p, {route});
}

// Puts stage s on device s.
constexpr placement linear(devices p) {
  return make_placement(p, stages_of(p, 1), [](int s) { return s; });
}

// Puts v chunks on a device, round and round: stage s on device s mod p (Narayanan et al., Megatron-LM,
// 2021). Throws as stages_of() does.
constexpr placement looped(devices p, chunks v) {
  return make_placement(p, stages_of(p, v.value), [=](int s) { return s % p.value; });
}

// Goes down the devices and up again in w waves: 2w chunks a device (Liu et al., Hanayo, 2023). Throws
// as stages_of() does.
constexpr placement wave(devices p, waves w) {
  int const each = w.value < 1 || w.value > most_stages / 2 ? w.value : 2 * w.value;
  return make_placement(p, stages_of(p, each), [=](int s) {
    int const turn = s / p.value, step = s % p.value;
    return turn % 2 == 0 ? step : p.value - 1 - step;
  });
}

// Goes down the devices and up again: stages i and 2p - 1 - i on device i (Qi et al., Controllable
// Memory, 2024).
constexpr placement v_shape(devices p) { return wave(p, waves{1}); }

// How stages lie on devices. `given`: as no formula here says, such as on several routes.
enum class placement_kind : unsigned char { linear, v, looped, wave, given };

// The placement of that kind with `chunk_count` stages on a device: 1 if it is linear, 2 if it is a V.
// Not for `given`. Throws as looped() and wave() do.
constexpr placement lay_out(placement_kind kind, devices p, int chunk_count) {
  switch (kind) {
    case placement_kind::v:
      return v_shape(p);
    case placement_kind::looped:
      return looped(p, chunks{chunk_count});
    case placement_kind::wave:
      return wave(p, waves{chunk_count / 2});
    default:
      return linear(p);
  }
}

}  // namespace ashlar
