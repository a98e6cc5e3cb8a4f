// The shapes that a catalog entry is built for, and its answer to shapes that it cannot be built for.
#pragma once

#include <ashlar/core/cost.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/ids.hpp>

#include <cstdint>
#include <initializer_list>
#include <limits>

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

// A parameter within its bounds, or the diagnosis that says so.
// Bounds are wide, so that one computed from another parameter does not overflow.
constexpr diagnosis at_least(parameter which, std::int64_t given, std::int64_t least) {
  if (given >= least) return {};
  return {.broken = rule::parameter_is_at_least, .number = least, .which = which, .given = given};
}
constexpr diagnosis at_most(parameter which, std::int64_t given, std::int64_t most) {
  if (given <= most) return {};
  return {.broken = rule::parameter_is_at_most, .number = most, .which = which, .given = given};
}
// A divisor below 1 is another parameter out of bounds, which has its own diagnosis.
constexpr diagnosis multiple_of(parameter which, std::int64_t given, std::int64_t divisor) {
  if (divisor < 1 || given % divisor == 0) return {};
  return {.broken = rule::parameter_is_a_multiple, .number = divisor, .which = which, .given = given};
}

// The first that is broken.
constexpr diagnosis all_of(std::initializer_list<diagnosis> all) {
  for (diagnosis const& d : all)
    if (!d.ok()) return d;
  return {};
}

// What every entry asks for.
constexpr diagnosis check_shape(shape const& s) {
  return all_of({at_least(parameter::device_count, s.p.value, 1),
                 at_least(parameter::micro_batch_count, s.m.value, 1)});
}

// At least one, and times `factor` still an int.
constexpr diagnosis check_count(shape const& s, parameter which, int given, int factor) {
  if (diagnosis const d = check_shape(s); !d.ok()) return d;
  return all_of(
      {at_least(which, given, 1), at_most(which, given, std::numeric_limits<int>::max() / factor)});
}

// For schedules with several chunks on each device: at least one, and passes that an int can count.
constexpr diagnosis check_chunks(shape const& s) {
  return check_count(s, parameter::chunk_count, s.v.value, s.p.value);
}

}  // namespace ashlar::catalog
