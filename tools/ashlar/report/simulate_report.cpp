#include "report/simulate_report.hpp"

#include "command.hpp"
#include "files/data_formats.hpp"
#include "options/byte_options.hpp"
#include "report/bound_words.hpp"
#include "report/counted.hpp"
#include "report/proved_gap.hpp"
#include "report/table.hpp"
#include <ashlar/render/chrome_trace.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace tool {

namespace {

// Whether values or shards lie on hosts, so that memory there counts.
bool holds_on_host(simulated_schedule const& r) {
  return r.low.offloads
         || std::any_of(r.run.memory.begin(), r.run.memory.end(),
                        [](ashlar::device_memory const& m) { return m.host_peak > 0; });
}

// The ends of a long path, where schedules differ, and how much lies between.
std::string text_of_path(simulated_schedule const& r) {
  constexpr std::size_t most = 24;
  std::vector<ashlar::path_step> const& path = r.run.critical;
  std::string text = "critical path, " + counted(static_cast<long long>(path.size()), "step") + ":\n";
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path.size() > most && i == most / 2) {
      text += fmt::format("  ... {} ...\n", counted(static_cast<long long>(path.size() - most), "step"));
      i = path.size() - most / 2;
    }
    text += fmt::format("  {:>8} to {:>8}  device {}: {}\n", r.time(path[i].from), r.time(path[i].until),
                        r.device_of(path[i].index), r.name_of(path[i].index));
  }
  return text;
}

std::string text_of_slacks(simulated_schedule const& r) {
  std::vector<std::vector<std::string>> rows{{"from", "to", "transfers", "may be later by"}};
  for (ashlar::link_slack const& l : *r.slacks)
    rows.push_back({std::to_string(l.from), std::to_string(l.to), std::to_string(l.transfers),
                    r.chosen.scale.words(l.slack)});
  return "\n" + table(rows);
}

}  // namespace

std::string text_of(simulated_schedule const& r) {
  ashlar::tick const length = r.run.makespan(), ideal = makespan(r.chosen.schedule);
  std::vector<std::vector<std::string>> rows{{"device", "busy", "warm-up", "steady", "cool-down",
                                              "exposed", "resident", "peak", "at", "reached by"}};
  bool const uses_hosts = holds_on_host(r);
  if (uses_hosts) rows[0].emplace_back("on the host");
  if (r.parts) rows[0].insert(rows[0].end(), {"computes", "exchanges"});
  // Sizes that the command line does not give are not 0.
  auto const words_of = [&](ashlar::byte_count ashlar::device_memory::*size, std::size_t device) {
    bool const given = std::any_of(r.run.memory.begin(), r.run.memory.end(),
                                   [&](ashlar::device_memory const& m) { return m.*size > 0; });
    return given ? rounded_bytes(r.run.memory[device].*size) : "not given";
  };
  for (std::size_t d = 0; d < r.run.usage.size(); ++d) {
    ashlar::device_usage const& u = r.run.usage[d];
    ashlar::device_memory const& m = r.run.memory[d];
    rows.push_back(
        {std::to_string(d), r.time(u.busy), r.time(u.warm_up), r.time(u.steady), r.time(u.cool_down),
         r.time(u.exposed), words_of(&ashlar::device_memory::resident, d),
         words_of(&ashlar::device_memory::peak, d), r.time(m.peak_time), r.name_of(m.witness)});
    if (uses_hosts) rows.back().push_back(rounded_bytes(m.host_peak));
    if (r.parts)
      for (ashlar::tick const busy : {r.parts->devices[d].computing, r.parts->devices[d].exchanging})
        rows.back().push_back(r.time(busy));
  }
  std::string text =
      fmt::format("{}: {}, {}\n", r.chosen.name, counted(r.chosen.schedule.device_count(), "device"),
                  counted(r.chosen.schedule.micro_batch_count(), "micro-batch"));
  time_scale const& scale = r.chosen.scale;
  text += fmt::format("makespan  {}, {}\n", scale.words(length), bound_words(length, r.least, scale));
  text += fmt::format(
      "schedule  {}, {}, with every transfer taking its own time and none in another's way\n",
      scale.words(ideal), bound_words(ideal, r.schedule_least, scale));
  if (!r.chosen.shares.empty()) text += fmt::format("stages    {}; sizes likewise\n", r.chosen.shares);
  if (r.parts)
    text += fmt::format(
        "of parts  {}, the same where a device exchanges for one pass while it computes for the next\n",
        scale.words(r.parts->makespan));
  if (r.by_pytorch)
    text += fmt::format("weights   gathered {}; by PyTorch's rule with three stages {}, and {}\n",
                        counted(static_cast<long long>(r.lowering.weights.gather_count()), "time"),
                        counted(static_cast<long long>(r.by_pytorch->weights.gather_count()), "time"),
                        scale.words(r.by_pytorch->makespan));
  text += "\n";
  return text + table(rows) + "\n" + text_of_path(r) + (r.slacks ? text_of_slacks(r) : "");
}

nlohmann::ordered_json json_of(simulated_schedule const& r) {
  using nlohmann::ordered_json;
  ordered_json all = ordered_json::array(), path = ordered_json::array();
  for (std::size_t d = 0; d < r.run.usage.size(); ++d) {
    ashlar::device_usage const& u = r.run.usage[d];
    ashlar::device_memory const& m = r.run.memory[d];
    ordered_json stream = ordered_json::array(), samples = ordered_json::array();
    for (int i = stream_begin(r.low, d); i < stream_end(r.low, d); ++i) {
      auto const at = static_cast<std::size_t>(i);
      stream.push_back({{"instruction", r.name_of(i)},
                        {"lane", r.low.instructions[at].lane},
                        {"start", r.run.line.timed[at].start},
                        {"end", r.run.line.timed[at].end}});
    }
    for (ashlar::memory_sample const& s : m.samples) samples.push_back({s.time, s.bytes});
    all.push_back({{"busy", u.busy},
                   {"idle",
                    {{"warm_up", u.warm_up},
                     {"steady", u.steady},
                     {"cool_down", u.cool_down},
                     {"exposed", u.exposed}}},
                   {"memory",
                    {{"resident", proved_bytes(m.resident)},
                     {"reserved", m.reserved},
                     {"peak", proved_bytes(m.peak)},
                     {"peak_time", m.peak_time},
                     {"witness", m.witness < 0 ? ordered_json() : ordered_json(r.name_of(m.witness))},
                     {"samples", std::move(samples)}}},
                   {"stream", std::move(stream)}});
    if (r.parts)
      all.back()["of_parts"] = {{"computing", r.parts->devices[d].computing},
                                {"exchanging", r.parts->devices[d].exchanging}};
    if (holds_on_host(r))
      all.back()["host_memory"] = {{"reserved", m.host_reserved}, {"peak", m.host_peak}};
  }
  for (ashlar::path_step const& s : r.run.critical)
    path.push_back({{"device", r.device_of(s.index)},
                    {"instruction", r.name_of(s.index)},
                    {"from", s.from},
                    {"until", s.until}});
  ordered_json out{{"schedule", r.chosen.name},
                   {"devices", r.chosen.schedule.device_count()},
                   {"stages", r.chosen.schedule.stage_count()},
                   {"micro_batches", r.chosen.schedule.micro_batch_count()}};
  if (time_scale const& scale = r.chosen.scale; !scale.is_plain()) {
    if (!scale.unit.empty()) out["time_unit"] = scale.unit;
    out["ticks_per_unit"] = scale.ticks_per_unit;
  }
  auto const add = [&](std::string const& key, ashlar::tick reached,
                       std::optional<ashlar::bound> const& least) {
    out[key] = reached;
    if (!least) return;
    out[key + "_bound"] = least->makespan;
    out[key + "_gap"] = proved_gap(reached, least->makespan);
  };
  add("makespan", r.run.makespan(), r.least);
  add("schedule_makespan", makespan(r.chosen.schedule), r.schedule_least);
  if (r.parts) out["makespan_of_parts"] = r.parts->makespan;
  if (r.by_pytorch)
    out["weights"] = {
        {"gathers", r.lowering.weights.gather_count()},
        {"by_pytorch",
         {{"gathers", r.by_pytorch->weights.gather_count()}, {"makespan", r.by_pytorch->makespan}}}};
  if (r.slacks) {
    ordered_json& links = out["slack"] = ordered_json::array();
    for (ashlar::link_slack const& l : *r.slacks)
      links.push_back({{"from", l.from}, {"to", l.to}, {"transfers", l.transfers}, {"slack", l.slack}});
  }
  out["critical_path"] = std::move(path);
  out["by_device"] = std::move(all);
  return out;
}

std::string trace_of_parts(simulated_schedule const& r) {
  return ashlar::chrome_trace(*r.parts, tick_ns_of_trace(r.chosen.scale, r.parts->makespan));
}

std::string trace_of(simulated_schedule const& r) {
  double const tick_ns = tick_ns_of_trace(r.chosen.scale, r.run.makespan());
  auto const ns = [&](ashlar::tick t) { return std::llround(static_cast<double>(t) * tick_ns); };
  std::vector<bool> critical(r.low.instructions.size(), false);
  for (ashlar::path_step const& s : r.run.critical) critical[static_cast<std::size_t>(s.index)] = true;
  std::vector<ashlar::trace_span> spans;
  for (std::size_t i = 0; i < r.low.instructions.size(); ++i) {
    ashlar::instruction const& self = r.low.instructions[i];
    ashlar::timed_instruction const& t = r.run.line.timed[i];
    spans.push_back({.device = r.device_of(static_cast<int>(i)),
                     .lane = self.lane,
                     .name = to_string(self),
                     .start_ns = ns(t.start),
                     .end_ns = ns(t.end),
                     .category = critical[i] ? "critical" : "simulated"});
  }
  return ashlar::chrome_trace(spans, r.low.lane_count(), r.low.offloads,
                              ashlar::has_scatter_lane(r.low.sharding, r.low.data_ranks));
}

}  // namespace tool
