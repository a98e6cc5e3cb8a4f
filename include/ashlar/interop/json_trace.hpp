// Reads timelines in the Trace Event Format, as written by chrome_trace() (render/) and the trainers.
#pragma once

#include <ashlar/core/pass.hpp>
#include <ashlar/interop/json_text.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ashlar {

// An interval, in nanoseconds since the timeline's first pass began.
struct trace_event {
  int device = 0, lane = 0;
  std::string name = {};
  std::int64_t start = 0, end = 0;
  std::optional<pass> what = {};  // of a pass

  friend bool operator==(trace_event const&, trace_event const&) = default;
};

// The events of a trace.
struct json_trace {
  std::vector<trace_event> events = {};
  int device_count = 0;
};

// Throws input_error, with line, column and key, if the file is not a trace or has no pass.
json_trace read_json_trace(json_text const& source);

// Reads a text. `path` is its name in messages.
json_trace read_json_trace(std::string text, std::string path = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/json_trace.ipp>
#endif
