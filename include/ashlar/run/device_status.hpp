// The current activity of a device, for a backend's message when nothing has moved within its deadline.
#pragma once

#include <ashlar/core/function_ref.hpp>
#include <ashlar/program/program.hpp>

#include <cstdint>
#include <string>

namespace ashlar {

// The activity of a device. `synchronizes`: it waits for all other devices, between steps.
enum class activity : int { between_steps, computes, waits, synchronizes };

// Devices are numbered rank after rank: rank · devices + device.
struct device_status {
  activity what = activity::between_steps;
  int index = -1;         // the instruction that it computes or waits for
  int missing_count = 0;  // number of devices that it waits for
  int missing = -1;       // the first of them
  std::int64_t step = 0;  // from 1
  std::int64_t for_ms = 0;
};

// `device 2`, or with data-parallel ranks `rank 1, device 2`.
std::string name_of_device(program_view const& p, int number);

// `has waited 3012 ms for device 1: receive 1F3 from device 1 (position 17 of step 4)`; name(number) is
// the name of a device. The program has passed check_tables().
std::string describe(program_view const& p, int number, device_status const& s,
                     function_ref<std::string(int)> name);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/run/device_status.ipp>
#endif
