// Where the devices of a step stand, for a backend's message when nothing has moved within its
// deadline.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/program/program.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace ashlar {

// What a device does. Between steps it may have to meet all others.
enum class activity : int { between_steps, computes, waits, meets };

// Devices are numbered rank after rank: rank · devices + device.
struct standing {
  activity what = activity::between_steps;
  int index = -1;         // the instruction that it computes or waits for
  int missing_count = 0;  // of devices that it waits for
  int missing = -1;       // the first of them
  std::int64_t step = 0;  // from 1
  std::int64_t for_ms = 0;
};

// `device 2`, or with data-parallel ranks `rank 1, device 2`.
inline std::string name_of_device(program_view const& p, int number) {
  std::string const rank =
      p.data_ranks > 1 ? "rank " + std::to_string(number / p.device_count) + ", " : "";
  return rank + "device " + std::to_string(number % p.device_count);
}

// `has waited 3012 ms for device 1: receive 1F3 from device 1 (position 17 of step 4)`; name(number)
// is what devices are called.
template <class Name>
std::string describe(program_view const& p, int number, standing const& s, Name name) {
  std::string const time = std::to_string(s.for_ms) + " ms";
  std::string const between =
      "between steps " + std::to_string(s.step) + " and " + std::to_string(s.step + 1);
  if (s.what == activity::between_steps) return "has been " + between + " for " + time;
  if (s.what == activity::meets) return "has waited " + time + " for all others " + between;
  std::string text = (s.what == activity::computes ? "has computed for " : "has waited ") + time;
  if (s.index < 0)
    return text + (s.what == activity::computes ? " " + between : " for nothing that is under way");
  if (s.missing >= 0) text += " for " + name(s.missing);
  if (s.missing_count > 1) text += " and " + std::to_string(s.missing_count - 1) + " more";
  instruction const& i = nth(p.stream(number % p.device_count), s.index);
  return text + ": " + to_string(i) + " (position " + std::to_string(s.index) + " of step "
         + std::to_string(s.step) + ")";
}

}  // namespace ashlar
