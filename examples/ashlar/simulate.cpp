// ashlar simulate: what running a schedule's program would take.
#include "bound_words.hpp"
#include "byte_options.hpp"
#include "choice.hpp"
#include "command.hpp"
#include "counted.hpp"
#include "files.hpp"
#include "limits.hpp"
#include "lowering_options.hpp"
#include "number_option.hpp"
#include "output_options.hpp"
#include "shape_options.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include <ashlar/lower/lower.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/render/chrome_trace.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

struct simulate_options {
  shape_options shape;
  lowering_options lowering;
  ashlar::simulation_options run;
  ashlar::interconnect links;
  ashlar::stage_memory bytes = {.checkpoint = 0}, tied;
  ashlar::byte_count message = 0;
  long long between_bandwidth = -1;  // as inside a node
  bool in_flight = false;
  std::string format = "text";
  std::string output = "-";
};

struct result {
  chosen_schedule chosen;
  ashlar::program low;
  ashlar::simulation run;
  std::optional<ashlar::bound> least;           // of the run
  std::optional<ashlar::bound> schedule_least;  // of the schedule, whose transfers are its own

  std::string name_of(int index) const {
    return index < 0 ? "-" : to_string(low.instructions[static_cast<std::size_t>(index)]);
  }
  std::string time(ashlar::tick t) const { return chosen.scale.number(t); }
  int device_of(int index) const {
    auto const end = std::upper_bound(low.stream_begin.begin(), low.stream_begin.end(), index);
    return static_cast<int>(end - low.stream_begin.begin()) - 1;
  }
};

// Of bytes in a unit of time.
ashlar::byte_count bytes_a_tick(char const* flag, ashlar::byte_count in_unit, time_scale const& scale) {
  if (in_unit % scale.ticks_per_unit != 0)
    throw usage_error(fmt::format("{} must be a multiple of {}, because there are so many ticks in 1 {}",
                                  flag, scale.ticks_per_unit,
                                  scale.unit.empty() ? "tick given" : scale.unit));
  return in_unit / scale.ticks_per_unit;
}

result run(simulate_options const& o) {
  phase_line at;
  at.say("making the schedule");
  chosen_schedule chosen = choose(o.shape);
  ashlar::simulation_options how = o.run;
  how.cost = chosen.schedule.cost;
  time_scale const& scale = chosen.scale;
  auto const time = [&](char const* flag, ashlar::tick otherwise) {
    auto const found = o.shape.cost.others.find(flag);
    return found == o.shape.cost.others.end() ? otherwise : ticks_of(found->second, scale);
  };
  ashlar::interconnect const own = how.cost.links;
  bool const nodes = o.links.node_size > 0;  // else those of the schedule
  ashlar::interconnect& links = how.cost.links = o.links;
  if (!nodes) links.node_size = own.node_size;
  links.inside.latency = time("--latency", own.inside.latency);
  links.between.latency =
      time("--inter-latency", nodes || o.shape.cost.others.count("--latency") > 0 ? links.inside.latency
                                                                                  : own.between.latency);
  links.inside.bandwidth = bytes_a_tick("--bandwidth", o.links.inside.bandwidth, scale);
  links.between.bandwidth = o.between_bandwidth < 0
                                ? links.inside.bandwidth
                                : bytes_a_tick("--inter-bandwidth", o.between_bandwidth, scale);
  how.optimizer = time("--optimizer-ticks", 0);
  how.collective.latency = time("--ring-latency", 0);
  how.collective.bandwidth = bytes_a_tick("--ring-bandwidth", o.run.collective.bandwidth, scale);
  how.latency_holds_lane = !o.in_flight;
  how.memory = {.stages = {o.bytes}, .shared = {o.tied}};
  how.memory.stages[0].activation = how.memory.stages[0].gradient = o.message;
  how.memory.stages[0].sequence_gradient = o.bytes.sequence_state;
  at.say("lowering it");
  ashlar::program low = lower(chosen.schedule, lowering_of(o.lowering, chosen.schedule.stage_count()));
  at.say("simulating its program");
  ashlar::simulation timed = simulate(low, how);
  at.say("bounding it");
  auto const least = program_bound(chosen.schedule, low, how), other = schedule_bound(chosen.schedule);
  return {std::move(chosen), std::move(low), std::move(timed), least, other};
}

// The ends of a long path, which are where schedules differ, and how much lies between.
std::string text_of_path(result const& r) {
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

std::string text_of(result const& r) {
  ashlar::tick const length = r.run.makespan(), ideal = makespan(r.chosen.schedule);
  std::vector<std::vector<std::string>> rows{{"device", "busy", "warm-up", "steady", "cool-down",
                                              "exposed", "resident", "peak", "at", "reached by"}};
  for (std::size_t d = 0; d < r.run.usage.size(); ++d) {
    ashlar::device_usage const& u = r.run.usage[d];
    ashlar::device_memory const& m = r.run.memory[d];
    rows.push_back({std::to_string(d), r.time(u.busy), r.time(u.warm_up), r.time(u.steady),
                    r.time(u.cool_down), r.time(u.exposed), rounded_bytes(m.resident),
                    rounded_bytes(m.peak), r.time(m.peak_time), r.name_of(m.witness)});
  }
  std::string text =
      fmt::format("{}: {}, {}\n", r.chosen.name, counted(r.chosen.schedule.device_count(), "device"),
                  counted(r.chosen.schedule.micro_batch_count(), "micro-batch"));
  time_scale const& scale = r.chosen.scale;
  text += fmt::format("makespan  {}, {}\n", scale.words(length), bound_words(length, r.least, scale));
  text += fmt::format(
      "schedule  {}, {}, with every transfer taking --transfer and none in another's way\n\n",
      scale.words(ideal), bound_words(ideal, r.schedule_least, scale));
  return text + table(rows) + "\n" + text_of_path(r);
}

nlohmann::ordered_json json_of(result const& r) {
  using nlohmann::ordered_json;
  ordered_json all = ordered_json::array(), path = ordered_json::array();
  for (std::size_t d = 0; d < r.run.usage.size(); ++d) {
    ashlar::device_usage const& u = r.run.usage[d];
    ashlar::device_memory const& m = r.run.memory[d];
    ordered_json stream = ordered_json::array(), samples = ordered_json::array();
    for (int i = r.low.stream_begin[d]; i < r.low.stream_begin[d + 1]; ++i) {
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
                    {{"resident", m.resident},
                     {"reserved", m.reserved},
                     {"peak", m.peak},
                     {"peak_time", m.peak_time},
                     {"witness", m.witness < 0 ? ordered_json() : ordered_json(r.name_of(m.witness))},
                     {"samples", std::move(samples)}}},
                   {"stream", std::move(stream)}});
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
    out[key + "_gap"] = ashlar::gap(reached, least->makespan);
  };
  add("makespan", r.run.makespan(), r.least);
  add("schedule_makespan", makespan(r.chosen.schedule), r.schedule_least);
  out["critical_path"] = std::move(path);
  out["by_device"] = std::move(all);
  return out;
}

// A tick as a microsecond, as in the trace of a schedule.
std::string trace_of(result const& r) {
  constexpr std::int64_t tick_ns = 1'000;
  if (r.run.makespan() > INT64_MAX / tick_ns) throw usage_error("times are too long for a trace");
  std::vector<bool> critical(r.low.instructions.size(), false);
  for (ashlar::path_step const& s : r.run.critical) critical[static_cast<std::size_t>(s.index)] = true;
  std::vector<ashlar::trace_span> spans;
  for (std::size_t i = 0; i < r.low.instructions.size(); ++i) {
    ashlar::instruction const& self = r.low.instructions[i];
    ashlar::timed_instruction const& t = r.run.line.timed[i];
    spans.push_back({.device = r.device_of(static_cast<int>(i)),
                     .lane = self.lane,
                     .name = to_string(self),
                     .start_ns = t.start * tick_ns,
                     .end_ns = t.end * tick_ns,
                     .category = critical[i] ? "critical" : "simulated"});
  }
  return ashlar::chrome_trace(spans, r.low.view().lane_count);
}

int simulate_program(simulate_options const& o) {
  output const to(o.output);
  result const r = run(o);
  to.write(o.format == "json"    ? json_of(r).dump() + "\n"
           : o.format == "trace" ? trace_of(r)
                                 : text_of(r));
  return done;
}

void add_link_options(CLI::App& command, simulate_options& o) {
  auto const number = [&](char const* flag, auto& value, char const* help) {
    add_number(command, flag, value, 0, ashlar::max_tick - 1, help)->default_str("");
  };
  auto const time = [&](char const* flag, char const* help) {
    add_duration(command, flag, o.shape.cost.others, 0, help, ashlar::max_tick - 1);
  };
  time("--latency", "of a transfer before its bytes (default: as --transfer)");
  number("--bandwidth", o.links.inside.bandwidth,
         "bytes a tick, or a unit of time; 0: bytes take no time");
  time("--inter-latency", "between nodes (default: as --latency)");
  number("--inter-bandwidth", o.between_bandwidth, "between nodes (default: as --bandwidth)");
  add_number(command, "--node-size", o.links.node_size, 0, most_devices,
             "devices of a node; 0: all are in one");
  add_bytes(command, "--bytes", o.message, "a message: an activation or its gradient");
  add_stage_bytes(command, o.bytes);
  add_bytes(command, "--weight-stash-bytes", o.bytes.weight_stash,
            "what an input pass keeps beside that for its weight pass");
  add_bytes(command, "--sequence-state-bytes", o.bytes.sequence_state,
            "what a chunk of a sequence leaves for the next; its gradient is as large");
  time("--optimizer-ticks", "a stage's optimizer step; a shard's is shorter");
  time("--ring-latency", "a step of a collective's ring");
  number("--ring-bandwidth", o.run.collective.bandwidth,
         "bytes a tick, or a unit of time; 0: bytes take no time");
}

}  // namespace

void add_simulate(CLI::App& app, action& chosen) {
  using namespace ashlar;
  auto* const command =
      app.add_subcommand("simulate", "Run a schedule's program on simulated devices and links");
  auto const o = std::make_shared<simulate_options>();
  add_shape_options(*command, o->shape);
  add_link_options(*command, *o);
  add_lowering_options(*command, o->lowering);
  add_tying_option(*command, o->lowering);
  for (CLI::Option* const size :
       {add_bytes(*command, "--tied-weight-bytes", o->tied.weights, "the tied matrix, once a device"),
        add_bytes(*command, "--tied-optimizer-bytes", o->tied.optimizer_state, "its optimizer state"),
        add_bytes(*command, "--tied-gradient-bytes", o->tied.weight_gradient, "its gradient")})
    size->needs("--tie-embeddings");
  add_choice<transfer_order>(
      *command, "--transfer-order", o->lowering.rest.transfers,
      {{"finish-time", transfer_order::finish_time}, {"asap", transfer_order::asap}},
      "by the time the producer ends, or as frameworks list them");
  add_lanes_option(*command, o->lowering.rest.lanes);
  add_choice<slot_reuse>(*command, "--slots", o->lowering.rest.slots,
                         {{"fewest", slot_reuse::when_free}, {"one-a-value", slot_reuse::never}},
                         "whether values share buffers");
  add_choice<issue_mode>(*command, "--issue", o->run.issue,
                         {{"by-slots", issue_mode::by_slots}, {"in-stream", issue_mode::in_stream}},
                         "whether a transfer also waits for all passes before it in its stream");
  add_choice<transfer_mode>(
      *command, "--transfers", o->run.mode,
      {{"rendezvous", transfer_mode::rendezvous}, {"buffered", transfer_mode::buffered}},
      "whether a send waits for its receive");
  command->add_flag("--latency-in-flight", o->in_flight,
                    "the next transfer of a lane need not wait for the latency of the one before");
  add_format_option(*command, o->format, {"text", "json", "trace"},
                    "text, json, or trace for chrome://tracing and Perfetto");
  add_output_option(*command, o->output);
  command->footer(
      "Examples:\n"
      "  ashlar simulate 1f1b -p 8 -m 32 --forward 10 --backward-input 10 --backward-weight 10 "
      "--latency 1\n"
      "  ashlar simulate v-half -p 8 -m 16 --transfer-order asap --issue in-stream --latency 1\n"
      "  ashlar simulate 1f1b --forward 20ms --backward-input 26ms --backward-weight 14ms --latency "
      "50us\n"
      "  ashlar simulate breadth-first -v 4 --data-ranks 8 --sharding full --weight-bytes 100 "
      "--ring-bandwidth 10\n"
      "  ashlar simulate 1f1b --node-size 2 --bytes 1000 --bandwidth 1000 --inter-bandwidth 100 --as "
      "json");
  command->callback([&chosen, o] { chosen = [o] { return simulate_program(*o); }; });
}

}  // namespace tool
