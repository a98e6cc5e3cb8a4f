#include "files/data_formats.hpp"

#include "command.hpp"
#include "files/framework_runs.hpp"
#include "report/printed.hpp"
#include <ashlar/interop/json.hpp>
#include <ashlar/interop/pytorch_comms.hpp>
#include <ashlar/interop/pytorch_csv.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/render/chrome_trace.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <fmt/core.h>

#include <cstdint>

namespace tool {

namespace {

std::string comms_of(ashlar::schedule const& s, std::string const& name, ashlar::csv_dialect dialect,
                     ashlar::lower_options const& lowering) {
  ashlar::program const lowered = ashlar::lower(s, lowering);
  if (std::string const why = ashlar::pytorch_obstacle(lowered); !why.empty())
    throw usage_error(fmt::format("PyTorch cannot run {}: {}", name, why));
  return ashlar::pytorch_comms_csv(lowered, dialect);
}

// Bidirectional schedules and recompute have a compute-only form, too: the line tells the device.
std::string passes_of(ashlar::schedule const& s, std::string const& name, ashlar::csv_dialect dialect) {
  if (std::string const why = ashlar::pytorch_obstacle(ashlar::lower(s)); !why.empty())
    fmt::print(stderr, "ashlar: PyTorch cannot run {}: {}\n", name, why);
  return ashlar::pytorch_csv(s, dialect);
}

}  // namespace

std::string data_of(ashlar::schedule const& s, std::string const& name, std::string const& format,
                    ashlar::csv_dialect dialect, time_scale const& scale,
                    ashlar::lower_options const& lowering) {
  if (format == "pytorch") return passes_of(s, name, dialect);
  if (format == "pytorch-comms") return comms_of(s, name, dialect, lowering);
  if (format == "frameworks") return framework_runs(s, name);
  if (format == "trace") return ashlar::chrome_trace(s, tick_ns_of_trace(scale, makespan(s)));
  return dumped(ashlar::to_json(s, name, scale)) + "\n";
}

double tick_ns_of_trace(time_scale const& scale, ashlar::tick longest) {
  double const tick_ns = scale.tick_ns();
  if (static_cast<double>(longest) > static_cast<double>(INT64_MAX) / (2 * tick_ns))
    throw usage_error("times are too long for a trace");
  return tick_ns;
}

}  // namespace tool
