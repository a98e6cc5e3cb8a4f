// The shapes that a catalog entry is built for, and its answer to shapes that it cannot be built for.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/ids.hpp>

#include <cstdint>
#include <initializer_list>

namespace ashlar::catalog {

// How BitPipe joins its basic units: as the authors' code does, or as their figure shows.
enum class unit_junction : unsigned char { code, figure };

// Sizes, costs and parameters; an entry looks at those that it has a use for.
struct shape {
  devices p;
  micro_batches m;
  costs cost = {};  // for all stages alike, or one entry for each stage of the schedule
  chunks v{2};      // stages on one device
  waves w{1};       // times down and up again
  int routes = 2;
  int rounds = 1;  // depth-first rounds that the micro-batches are dealt to
  int group = 0;   // micro-batches that take turns on the chunks of a device; 0: the entry's choice
  unit_junction junction = unit_junction::code;
  int sequence_chunks = 2;
};

// The first that is broken.
constexpr diagnosis all_of(std::initializer_list<diagnosis> all) {
  for (diagnosis const& d : all)
    if (!d.ok()) return d;
  return {};
}

// The most pairs of a stage and a micro-batch, each of up to three passes.
inline constexpr int most_runs = most_passes / 3;

// Checks what every entry requires: no more stages and passes than there is memory for.
constexpr diagnosis check_shape(shape const& s) {
  if (diagnosis const d = all_of({at_least(parameter::device_count, s.p.value, 1),
                                  at_least(parameter::micro_batch_count, s.m.value, 1),
                                  at_most(parameter::device_count, s.p.value, most_stages)});
      !d.ok())
    return d;
  return at_most(parameter::micro_batch_count, s.m.value, most_runs / s.p.value);
}

// Checks also that `given` is at least 1, and that `given * times` times as many stages or
// micro-batches stay within limits.
constexpr diagnosis check_count(shape const& s, parameter which, int given, int times = 1) {
  if (diagnosis const d = check_shape(s); !d.ok()) return d;
  int const by_stages = most_stages / s.p.value, by_runs = most_runs / s.p.value / s.m.value;
  return all_of(
      {at_least(which, given, 1), at_most(which, given, min_of(by_stages, by_runs) / max_of(times, 1))});
}

// Checks schedules with several chunks on each device.
constexpr diagnosis check_chunks(shape const& s) {
  return check_count(s, parameter::chunk_count, s.v.value);
}

}  // namespace ashlar::catalog
