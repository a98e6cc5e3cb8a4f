// Lower bounds for layers on a run of devices. They prune the search for a serving plan.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/plan/serving/serving.hpp>

#include <cstddef>

namespace ashlar {

// Bounds of three numbers, each independent of the others.
struct serving_bound {
  tick sum = max_tick;      // of all times and penalties
  tick prefill = max_tick;  // of the slowest device
  tick decode = max_tick;

  bool is_possible() const { return sum < max_tick; }

  friend constexpr bool operator==(serving_bound const&, serving_bound const&) = default;
};

// Bounds for the layers before one on the devices before another, and for layers from one on. Each of
// the three numbers is exact under the memory limits, so together they are a bound. O(devices *
// layers^2) choices.
class serving_bounds {
 public:
  // Finds the bounds for all runs of layers and devices.
  explicit serving_bounds(serving_problem const& problem);

  // Bound for the first `layers` layers on the first `device_count` devices.
  serving_bound const& before(int device_count, int layers) const {
    return before_[cell(device_count, layers)];
  }
  // Bound for the layers from `layer` on, on the devices from `device` on.
  serving_bound const& after(int device, int layer) const { return after_[cell(device, layer)]; }

 private:
  std::size_t cell(int device, int layer) const {
    return static_cast<std::size_t>(device * (count_ + 1) + layer);
  }
  serving_bound stage(int device, int from, int to) const;

  // Bounds of layers from .. to - 1 alone on a device. Wider runs need more memory, so it stops at the
  // first that does not fit.
  void fill_stages();

  static void improve(serving_bound& best, serving_bound const& rest, serving_bound const& more);

  serving_problem const& problem_;
  int p_, count_;
  dynamic_array<serving_bound> stages_, before_, after_;
};

}  // namespace ashlar
