// The most that passes keep and send at once, where values leave for the hosts of devices.
#pragma once

#include "train/training.hpp"
#include <ashlar/run/device_plan.hpp>
#include <ashlar/run/instruction_time.hpp>

#include <vector>

namespace tool {

// Sums over all devices and ranks.
struct peak_sums {
  ashlar::byte_count on_devices = 0, on_hosts = 0;
};

// Nothing is measured if the times are unknown.
struct held_peaks {
  peak_sums measured = {}, proved = {};
  bool are_measured = false;
};

// Peaks by the times of a step, rank after rank; empty: unknown. `layout` is the worker's.
held_peaks peaks_of(training const& t, ashlar::layout_function layout,
                    std::vector<ashlar::instruction_time> const& times);

}  // namespace tool
