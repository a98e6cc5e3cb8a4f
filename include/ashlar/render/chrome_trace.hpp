// Timelines for chrome://tracing and Perfetto: the Trace Event Format's JSON, a process a device, a
// thread a lane.
#pragma once

#include <ashlar/render/json_text.hpp>
#include <ashlar/render/token.hpp>
#include <ashlar/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar {

// Something that was measured.
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
inline std::string microseconds(std::int64_t ns) {
  std::uint64_t const size =
      ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  std::string fraction = std::to_string(1000 + size % 1000);
  fraction[0] = '.';
  return (ns < 0 ? "-" : "") + std::to_string(size / 1000) + fraction;
}

class trace_writer {
 public:
  void name(char const* what, int device, int lane, std::string_view text) {
    begin(what, "M", device, lane);
    json_ += ",\"args\":{\"name\":\"" + escape_json(text) + "\"}}";
  }
  // `start` and `length` are numbers of microseconds; `arguments` the inside of a JSON object.
  void complete(std::string_view name, std::string_view category, int device, int lane,
                std::string const& start, std::string const& length, std::string const& arguments = "") {
    begin(name, "X", device, lane);
    json_ += ",\"cat\":\"" + escape_json(category) + "\",\"ts\":" + start + ",\"dur\":" + length;
    json_ += arguments.empty() ? "}" : ",\"args\":{" + arguments + "}}";
  }
  std::string finish() const {
    return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[" + json_ + "\n]}\n";
  }

 private:
  void begin(std::string_view name, char const* phase, int device, int lane) {
    json_ += json_.empty() ? "\n" : ",\n";
    json_ += "{\"name\":\"" + escape_json(name) + "\",\"ph\":\"" + phase
             + "\",\"pid\":" + std::to_string(device) + ",\"tid\":" + std::to_string(lane);
  }

  std::string json_;
};

inline std::string name_of_lane(int lane) {
  return lane == compute_lane ? "compute" : "lane " + std::to_string(lane);
}

}  // namespace render_detail

// A schedule's passes, a tick as a microsecond.
inline std::string chrome_trace(schedule const& s) {
  render_detail::trace_writer writer;
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    int const device = static_cast<int>(d);
    writer.name("process_name", device, compute_lane, "device " + std::to_string(d));
    writer.name("thread_name", device, compute_lane, render_detail::name_of_lane(compute_lane));
    for (timed_pass const& t : s.order[d])
      writer.complete(to_string(t.what), name_of(t.what.kind), device, compute_lane,
                      std::to_string(t.start), std::to_string(s.cost.of(t.what)),
                      "\"stage\":" + std::to_string(t.what.stage)
                          + ",\"micro_batch\":" + std::to_string(t.what.micro_batch));
  }
  return writer.finish();
}

// What was measured, to the nanosecond.
inline std::string chrome_trace(std::vector<trace_span> const& spans) {
  render_detail::trace_writer writer;
  std::vector<std::vector<bool>> named;  // by device, then lane
  for (trace_span const& span : spans) {
    if (span.device >= 0 && span.lane >= 0) {
      auto const d = static_cast<std::size_t>(span.device), lane = static_cast<std::size_t>(span.lane);
      if (named.size() <= d) named.resize(d + 1);
      if (named[d].empty()) writer.name("process_name", span.device, 0, "device " + std::to_string(d));
      if (named[d].size() <= lane) named[d].resize(lane + 1);
      if (!named[d][lane])
        writer.name("thread_name", span.device, span.lane, render_detail::name_of_lane(span.lane));
      named[d][lane] = true;
    }
    writer.complete(span.name, span.category, span.device, span.lane,
                    render_detail::microseconds(span.start_ns),
                    render_detail::microseconds(span.end_ns - span.start_ns));
  }
  return writer.finish();
}

}  // namespace ashlar
