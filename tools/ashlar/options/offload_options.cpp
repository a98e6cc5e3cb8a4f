#include "options/offload_options.hpp"

#include "command.hpp"
#include "options/limits.hpp"
#include "options/number_option.hpp"
#include <ashlar/interop/bandwidths.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

namespace tool {

namespace {

constexpr std::array bandwidth_units{std::pair{"B/s", 1.0}, std::pair{"kB/s", 1e3},
                                     std::pair{"MB/s", 1e6}, std::pair{"GB/s", 1e9},
                                     std::pair{"TB/s", 1e12}};

// Seconds of a unit of time in which ticks may be given; 0: none.
double seconds_of(std::string const& unit) {
  return unit == "s" ? 1 : unit == "ms" ? 1e-3 : unit == "us" ? 1e-6 : unit == "ns" ? 1e-9 : 0;
}

}  // namespace

void add_offload_option(CLI::App& command, host_options& o) {
  add_number(command, "--offload", o.percent, 0, 100,
             "percent of what the forwards of each device keep that leaves for its host and comes back "
             "before the backward: what lives longest first")
      ->type_name("PERCENT");
}

void add_host_link_options(CLI::App& command, host_options& o, std::map<std::string, duration>& times) {
  command
      .add_option("--host-bandwidth", o.bandwidth,
                  "of the link between a device and its host, each way: 20GB/s where times have a unit, "
                  "or bytes per tick")
      ->type_name("BANDWIDTH");
  add_number(command, "--host-shared-by", o.shared_by, 1, most_devices,
             "devices that share such a link");
  add_duration(command, "--host-slack", times, 0,
               "by how much each copy may take longer than that before a pass waits for it: copies "
               "back begin earlier, and what leaves keeps its place for longer");
}

ashlar::host_link planned_host(ashlar::host_link host, std::map<std::string, duration> const& times,
                               ashlar::time_scale const& scale) {
  if (auto const slack = times.find("--host-slack"); slack != times.end())
    host.speed.latency = ashlar::saturating_sum(host.speed.latency, ticks_of(slack->second, scale));
  return host;
}

ashlar::host_link host_of(host_options const& o, ashlar::time_scale const& scale) {
  if (o.bandwidth.empty()) return {};
  std::string_view const text = o.bandwidth;
  double value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view const unit = text.substr(static_cast<std::size_t>(end - text.data()));
  double factor = unit.empty() ? 1.0 / static_cast<double>(scale.ticks_per_unit) : 0;
  for (auto const& [name, bytes] : bandwidth_units)
    if (unit == name)
      factor = bytes * seconds_of(scale.unit) / static_cast<double>(scale.ticks_per_unit);
  if (error != std::errc{} || !(value > 0) || !std::isfinite(value)
      || (factor == 0 && (unit.empty() || seconds_of(scale.unit) > 0)))
    throw usage_error(
        fmt::format("--host-bandwidth is a number of bytes per tick, or as 20GB/s, not '{}'",
                    o.bandwidth.substr(0, 64)));
  if (factor == 0)
    throw usage_error(fmt::format("--host-bandwidth {} needs times with a unit, as in --forward 20ms",
                                  o.bandwidth.substr(0, 64)));
  double const in_ticks = value * factor;
  if (!(in_ticks >= 1e-9 && in_ticks < 1e15))
    throw usage_error(fmt::format("--host-bandwidth {} is {} bytes per tick than can be counted",
                                  o.bandwidth.substr(0, 64), in_ticks < 1 ? "fewer" : "more"));
  return {.speed = ashlar::link_speed_of(0, in_ticks), .shared_by = o.shared_by};
}

ashlar::offload_options offload_of(host_options const& o, ashlar::schedule const& s,
                                   ashlar::memory_model memory, ashlar::host_link const& host) {
  if (o.percent == 0) return {};
  if (s.mode == ashlar::execution_mode::inference)
    throw usage_error("--offload has no effect without backward passes");
  // Sizes say what a stage would keep for a recompute; the schedule says whether there is one.
  if (!recomputes(s))
    for (ashlar::stage_memory& each : memory.stages) each.checkpoint = ashlar::stage_memory::all;
  ashlar::offload_options found = offload_share(s, memory, host, o.percent).offload;
  if (found.forwards.empty())
    throw usage_error(
        "--offload has no effect: nothing is kept long enough to leave and come back in time");
  return found;
}

ashlar::offload_options offload_of(host_options const& o, ashlar::schedule const& s) {
  ashlar::memory_model alike;
  alike.stages[0].stash = 1;
  return offload_of(o, s, alike, {});
}

}  // namespace tool
