// Definitions of chrome_trace.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/render/activations.hpp>
#include <ashlar/render/chrome_trace.hpp>
#include <ashlar/render/json_text.hpp>
#include <ashlar/render/needs.hpp>
#include <ashlar/schedule/tables.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace ashlar::render_detail {

class trace_writer {
 public:
  void name(char const* what, int device, int lane, std::string_view text) {
    begin(what, "M", device, lane);
    json_ += ",\"args\":{\"name\":\"" + escape_json(text) + "\"}}";
  }
  // `start` and `length` are numbers of microseconds; `arguments` the inside of a JSON object.
  void complete(std::string_view name, std::string_view category, int device, int lane,
                std::string const& start, std::string const& length, std::string const& arguments = "");
  // One end of an arrow: `phase` is s at its start, f at its finish; bound to the event that encloses
  // `at`.
  void flow(char const* phase, std::string_view name, std::size_t number, int device,
            std::string const& at);
  void counter(char const* name, int device, std::string const& at, int value) {
    begin(name, "C", device, compute_lane);
    json_ += ",\"ts\":" + at + ",\"args\":{\"held\":" + std::to_string(value) + "}}";
  }
  std::string finish() const {
    return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[" + json_ + "\n]}\n";
  }

 private:
  void begin(std::string_view name, char const* phase, int device, int lane);

  std::string json_;
};

}  // namespace ashlar::render_detail

namespace ashlar::render_detail {

ASHLAR_INLINE std::string microseconds(std::int64_t ns) {
  std::uint64_t const size =
      ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  std::string fraction = std::to_string(1000 + size % 1000);
  fraction[0] = '.';
  return (ns < 0 ? "-" : "") + std::to_string(size / 1000) + fraction;
}

ASHLAR_INLINE void trace_writer::complete(std::string_view name, std::string_view category, int device,
                                          int lane, std::string const& start, std::string const& length,
                                          std::string const& arguments) {
  begin(name, "X", device, lane);
  json_ += ",\"cat\":\"" + escape_json(category) + "\",\"ts\":" + start + ",\"dur\":" + length;
  json_ += arguments.empty() ? "}" : ",\"args\":{" + arguments + "}}";
}

ASHLAR_INLINE void trace_writer::flow(char const* phase, std::string_view name, std::size_t number,
                                      int device, std::string const& at) {
  begin(name, phase, device, compute_lane);
  json_ += ",\"cat\":\"transfer\",\"id\":" + std::to_string(number) + ",\"ts\":" + at;
  json_ += *phase == 'f' ? ",\"bp\":\"e\"}" : "}";
}

ASHLAR_INLINE void trace_writer::begin(std::string_view name, char const* phase, int device, int lane) {
  json_ += json_.empty() ? "\n" : ",\n";
  json_ += "{\"name\":\"" + escape_json(name) + "\",\"ph\":\"" + phase
           + "\",\"pid\":" + std::to_string(device) + ",\"tid\":" + std::to_string(lane);
}

ASHLAR_INLINE std::string arguments_of(pass const& what) {
  return (is_part(what) ? "\"job\":" : "\"stage\":") + std::to_string(what.stage)
         + (is_part(what) ? ",\"part\":" : ",\"micro_batch\":") + std::to_string(what.micro_batch);
}

// Converts ticks up to the furthest one to nanoseconds. Throws violation{rule::ticks_fit}.
class nanoseconds {
 public:
  nanoseconds(double tick_ns, tick furthest) : tick_ns_(tick_ns) {
    if (!(tick_ns > 0 && static_cast<double>(furthest) * tick_ns < static_cast<double>(max_tick)))
      refuse({.broken = rule::ticks_fit, .number = furthest});
  }
  std::int64_t operator()(tick t) const { return std::llround(static_cast<double>(t) * tick_ns_); }

 private:
  double tick_ns_;
};

ASHLAR_INLINE std::string name_of_lane(int lane, std::int64_t lane_count, bool offloads, bool scatters) {
  if (lane == compute_lane) return "compute";
  if (offloads && lane >= lane_count - 2)
    return lane == lane_count - 2 ? "copies to the host" : "copies from the host";
  if (offloads) lane_count -= 2;
  if (scatters && std::int64_t{lane} + 1 == lane_count--) return "scatters";
  if (std::int64_t{lane} + 1 == lane_count) return "collectives";
  if (lane_count == first_transfer_lane + 2) return "transfers";
  return "transfers " + std::to_string(lane - first_transfer_lane);
}

}  // namespace ashlar::render_detail

namespace ashlar {

ASHLAR_INLINE std::string chrome_trace(schedule const& s, double tick_ns) {
  must_have_form(s);
  tick furthest = 1;
  for (std::size_t d = 0; d < s.order.size(); ++d)
    for (timed_pass const t : each_pass(s.order[d]))
      for (tick const at : {t.start, s.end_of(t, static_cast<int>(d))})
        furthest = max_of(furthest, at < 0 ? -at : at);
  render_detail::nanoseconds const ns(tick_ns, furthest);
  using render_detail::instant;
  render_detail::trace_writer writer;
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    int const device = static_cast<int>(d);
    writer.name("process_name", device, compute_lane, "device " + std::to_string(d));
    writer.name("thread_name", device, compute_lane, "compute");
  }
  std::vector<needing_pass> const passes = needs_of(s);
  for (needing_pass const& p : passes)
    writer.complete(to_string(p.what), name_of(p.what.kind), p.device, compute_lane,
                    instant(ns(p.start)), instant(ns(p.end) - ns(p.start)),
                    render_detail::arguments_of(p.what));
  std::size_t transfers = 0;
  for (needing_pass const& to : passes)
    for (std::size_t const number : to.needs) {
      needing_pass const& from = passes[number];
      if (from.device == to.device) continue;
      std::string const what = to_string(from.what);
      writer.flow("s", what, transfers, from.device, instant(ns(from.end) - 1));
      writer.flow("f", what, transfers, to.device, instant(ns(to.start) + 1));
      ++transfers;
    }
  auto const held = held_activations(s);
  for (std::size_t d = 0; d < held.size(); ++d)
    for (held_step const& step : held[d])
      writer.counter("chunk activations", static_cast<int>(d), instant(ns(step.time)), step.held);
  return writer.finish();
}

ASHLAR_INLINE std::string chrome_trace(part_timeline const& t, double tick_ns) {
  tick furthest = 1;
  for (device_parts const& own : t.devices)
    for (timed_part const& part : own.parts) {
      if (part.of < 0 || static_cast<std::size_t>(part.of) >= own.passes.size())
        refuse({.broken = rule::tables_agree, .number = part.of});
      for (tick const at : {part.start, part.end}) {
        if (at <= -max_tick || at >= max_tick) refuse({.broken = rule::ticks_fit, .number = at});
        furthest = max_of(furthest, at < 0 ? -at : at);
      }
    }
  render_detail::nanoseconds const ns(tick_ns, furthest);
  using render_detail::instant;
  render_detail::trace_writer writer;
  for (std::size_t d = 0; d < t.devices.size(); ++d) {
    int const device = static_cast<int>(d);
    writer.name("process_name", device, 0, "device " + std::to_string(d));
    writer.name("thread_name", device, 0, "compute");
    writer.name("thread_name", device, 1, "exchange");
    device_parts const& own = t.devices[d];
    for (timed_part const& part : own.parts) {
      pass const& what = own.passes[static_cast<std::size_t>(part.of)].what;
      writer.complete(to_string(what), name_of(what.kind), device,
                      part.on == part_resource::exchange ? 1 : 0, instant(ns(part.start)),
                      instant(ns(part.end) - ns(part.start)),
                      render_detail::arguments_of(what) + ",\"number\":" + std::to_string(part.number));
    }
  }
  return writer.finish();
}

ASHLAR_INLINE std::string chrome_trace(std::vector<trace_span> const& spans, int lane_count,
                                       bool offloads, bool scatters) {
  render_detail::trace_writer writer;
  std::vector<std::pair<int, int>> named;  // device and lane; -1: the device itself
  for (trace_span const& span : spans)
    if (span.device >= 0 && span.lane >= 0)
      named.insert(named.end(), {{span.device, -1}, {span.device, span.lane}});
  std::sort(named.begin(), named.end());
  named.erase(std::unique(named.begin(), named.end()), named.end());
  std::vector<char> is_notified(named.size(), 0);
  auto const is_new = [&](int device, int lane) {
    auto const at =
        std::lower_bound(named.begin(), named.end(), std::pair{device, lane}) - named.begin();
    return std::exchange(is_notified[static_cast<std::size_t>(at)], char{1}) == 0;
  };
  for (trace_span const& span : spans) {
    for (std::int64_t const at : {span.start_ns, span.end_ns})
      if (at <= -max_tick || at >= max_tick) refuse({.broken = rule::ticks_fit, .number = at});
    if (span.device >= 0 && span.lane >= 0) {
      if (is_new(span.device, -1))
        writer.name("process_name", span.device, 0, "device " + std::to_string(span.device));
      if (is_new(span.device, span.lane))
        writer.name("thread_name", span.device, span.lane,
                    render_detail::name_of_lane(span.lane, lane_count, offloads, scatters));
    }
    writer.complete(span.name, span.category, span.device, span.lane,
                    render_detail::microseconds(span.start_ns),
                    render_detail::microseconds(span.end_ns - span.start_ns));
  }
  return writer.finish();
}

}  // namespace ashlar
