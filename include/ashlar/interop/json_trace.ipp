// Definitions of json_trace.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/input_limits.hpp>
#include <ashlar/interop/json_reader.hpp>
#include <ashlar/interop/json_trace.hpp>
#include <ashlar/interop/pass_token.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace ashlar::json_detail {

using nlohmann::json;

class trace_reader : json_reader {
 public:
  explicit trace_reader(json_text const& source) : json_reader(source) {}

  json_trace read() const {
    json const& all = source_.root().is_object() ? at(source_.root(), "traceEvents") : source_.root();
    json_trace trace;
    auto first = std::numeric_limits<std::int64_t>::max();
    for (json const& event : list(all, "traceEvents")) {
      if (at(event, "ph") != json("X")) continue;
      trace_event const& e = trace.events.emplace_back(read(event));
      trace.device_count = std::max(trace.device_count, e.device + 1);
      if (e.what) first = std::min(first, e.start);
    }
    if (first == std::numeric_limits<std::int64_t>::max()) fail(all, "there is no pass");
    for (trace_event& e : trace.events) {
      e.start -= first;
      e.end -= first;
    }
    return trace;
  }

 private:
  double number_in(json const& event, char const* key, double least, double most) const {
    return number(at(event, key), key, least, most);
  }
  trace_event read(json const& event) const {
    constexpr double most_us = 1e12;  // eleven days
    constexpr double most_rows = 100.0 * input_limits::devices;
    double const start = number_in(event, "ts", -most_us, most_us),
                 length = number_in(event, "dur", 0, most_us);
    trace_event e{.device = static_cast<int>(number_in(event, "pid", 0, most_rows)),
                  .lane = static_cast<int>(number_in(event, "tid", 0, most_rows)),
                  .name = text(at(event, "name"), "name"),
                  .start = std::llround(1e3 * start),
                  .end = std::llround(1e3 * (start + length))};
    e.what = read_pass(e.name);
    return e;
  }
};

}  // namespace ashlar::json_detail

namespace ashlar {

ASHLAR_INLINE json_trace read_json_trace(json_text const& source) {
  return json_detail::trace_reader(source).read();
}

ASHLAR_INLINE json_trace read_json_trace(std::string text, std::string path) {
  return read_json_trace(parse_json(std::move(text), std::move(path)));
}

}  // namespace ashlar
