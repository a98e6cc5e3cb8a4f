// Writes a schedule and lower bounds, each with its argument, so that a program that shares nothing with
// this one can check them.
#pragma once

#include <ashlar/bounds/argument.hpp>
#include <ashlar/interop/durations.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar {

// No schedule of a workload, or of the same passes with any memory, has a makespan, or a span, below
// `least` ticks.
struct claimed_bound {
  std::optional<workload> of;
  tick least = 0;
  bool is_span = false;
};

// Why a valid schedule has no certificate, or nothing: it has what the verifier does not know.
std::string certificate_obstacle(schedule const& s);

// One object of JSON, and the bounds that have no argument in it.
struct schedule_certificate {
  std::string json;
  std::vector<claimed_bound> without_argument;
};

// Requires a valid schedule without an obstacle, and bounds of its own passes on its own devices;
// without a workload, that it has a path bound. Limits are written in activations. Throws violation as
// to_json() does. Takes as long as workload_bound().
schedule_certificate certificate_of(schedule const& s, std::string_view name, time_scale const& scale,
                                    std::vector<claimed_bound> const& bounds);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/json_certificate.ipp>
#endif
