// Timelines for chrome://tracing and Perfetto: the Trace Event Format's JSON, with one process per
// device and one thread per lane.
#pragma once

#include <ashlar/program/instruction.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/simulate/part_timeline.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace ashlar {

// A measured interval.
struct trace_span {
  int device = 0;
  int lane = compute_lane;
  std::string name;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::string category = "measured";
};

namespace render_detail {

// The format counts microseconds; the fraction keeps nanoseconds exact.
std::string microseconds(std::int64_t ns);

// Microseconds without a fraction if it is zero.
inline std::string instant(std::int64_t ns) {
  std::string const text = microseconds(ns);
  return ns % 1000 == 0 ? text.substr(0, text.size() - 4) : text;
}

}  // namespace render_detail

// Draws a schedule's passes, with a tick of `tick_ns` nanoseconds; an arrow for each value sent between
// devices; and a counter of the chunk activations that each device holds. Arrows begin and end a
// nanosecond inside their passes, so that a viewer binds them to these and not to the neighbours. Throws
// violation: check_form(s), rule::ticks_fit unless a tick takes time and all times fit into nanoseconds.
std::string chrome_trace(schedule const& s, double tick_ns = 1000);

// Draws parts of passes, on one thread of each device for computing and one for exchanging. A tick is
// `tick_ns` nanoseconds. Throws violation: rule::ticks_fit as above, rule::tables_agree for parts of
// unknown passes.
std::string chrome_trace(part_timeline const& t, double tick_ns = 1000);

// Draws measured spans, exact to the nanosecond, of a program with this many lanes per device; the last
// two are for copies if it `offloads`, and the one before these for scatters if it has_scatter_lane().
// Throws violation{rule::ticks_fit}.
std::string chrome_trace(std::vector<trace_span> const& spans, int lane_count, bool offloads = false,
                         bool scatters = false);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/chrome_trace.ipp>
#endif
