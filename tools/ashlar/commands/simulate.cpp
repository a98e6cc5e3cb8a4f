// ashlar simulate: the time that a schedule's program would take to run.
#include "command.hpp"
#include "files/data_formats.hpp"
#include "files/files.hpp"
#include "options/byte_options.hpp"
#include "options/choice.hpp"
#include "options/effects.hpp"
#include "options/limits.hpp"
#include "options/link_option.hpp"
#include "options/lowering_options.hpp"
#include "options/number_option.hpp"
#include "options/offload_options.hpp"
#include "options/output_options.hpp"
#include "options/residency_options.hpp"
#include "options/shape_options.hpp"
#include "report/certificates.hpp"
#include "report/printed.hpp"
#include "report/simulate_report.hpp"
#include "report/terminal.hpp"
#include <ashlar/lower/lower.hpp>
#include <ashlar/simulate/part_timeline.hpp>
#include <ashlar/simulate/simulate.hpp>
#include <ashlar/simulate/slack.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

namespace {

struct simulate_options {
  shape_options shape;
  lowering_options lowering;
  host_options host;
  residency_options weights;
  ashlar::simulation_options run;
  int node_size = 0;
  ashlar::stage_memory bytes = {.checkpoint = 0}, tied;
  // A negative number means not given.
  ashlar::byte_count message = -1;
  long long bandwidth = -1, between_bandwidth = -1, ring_bandwidth = -1;
  bool in_flight = false, slack = false;
  late_links late;
  std::string format = "text";
  std::string output = "-", certificate = {};
};

bool is_taken(ashlar::program const& p, int from, int to) {
  for (int d = 0; d < p.device_count(); ++d)
    for (int i = stream_begin(p, d); i < stream_end(p, d); ++i)
      if (ashlar::instruction const& each = p.instructions[static_cast<std::size_t>(i)];
          each.code == ashlar::opcode::send && d == from && each.peer == to)
        return true;
  return false;
}

// Sets the link's bytes in a unit of time, if any are given.
void set_bandwidth(ashlar::link_speed& link, long long in_unit, time_scale const& scale) {
  if (in_unit < 0) return;
  long long const common = std::gcd(in_unit, scale.ticks_per_unit);
  link.bandwidth = in_unit / common;
  link.period = in_unit == 0 ? 1 : scale.ticks_per_unit / common;
}

simulated_schedule run(simulate_options const& o) {
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
  ashlar::interconnect& links = how.cost.on.links;
  if (o.node_size > 0) links.node_size = o.node_size;
  // Links between nodes are known from the schedule, or from what was measured.
  bool const nodes = o.node_size > 0 && !o.shape.cost.measured;
  ashlar::tick const between = links.between.latency;
  links.inside.latency = time("--latency", links.inside.latency);
  set_bandwidth(links.inside, o.bandwidth, scale);
  if (nodes || o.bandwidth >= 0) links.between = links.inside;
  links.between.latency =
      time("--inter-latency",
           nodes || o.shape.cost.others.count("--latency") > 0 ? links.inside.latency : between);
  set_bandwidth(links.between, o.between_bandwidth, scale);
  how.optimizer = time("--optimizer-ticks", 0);
  ashlar::link_speed& ring = how.cost.on.collective;
  ring.latency = time("--ring-latency", ring.latency);
  set_bandwidth(ring, o.ring_bandwidth, scale);
  how.latency_holds_lane = !o.in_flight;
  ashlar::stage_memory stage = o.bytes;
  stage.activation = stage.gradient = o.message < 0 ? chosen.schedule.cost.message : o.message;
  stage.sequence_gradient = o.bytes.sequence_state;
  how.memory = with_sizes(stage, o.shape.cost, chosen.schedule.micro_batch_count(), *o.shape.command);
  divide_sizes(how.memory, chosen, o.shape.cost);
  how.memory.shared = {o.tied};
  how.cost.on.host = host_of(o.host, scale);
  how.shards = o.weights.shards;
  at.say("lowering it");
  ashlar::lower_options lowering = lowering_of(o.lowering, chosen.schedule.graph);
  must_have_effect(*o.shape.command, effects_on(lowering, chosen.schedule, chosen.name));
  bool const keeps = std::any_of(how.memory.stages.begin(), how.memory.stages.end(),
                                 [](auto const& each) { return each.stash > 0; });
  must_have_effect(*o.shape.command,
                   {{"--offload", keeps, "without --stash-bytes"},
                    {"--host-bandwidth", o.host.percent > 0 || how.shards == ashlar::shard_home::host,
                     "without --offload or --shards host"},
                    {"--host-shared-by", !o.host.bandwidth.empty(), "without --host-bandwidth"},
                    {"--host-slack", !o.host.bandwidth.empty(), "without --host-bandwidth"}});
  lowering.offload = offload_of(o.host, chosen.schedule, how.memory,
                                planned_host(how.cost.on.host, o.shape.cost.others, scale));
  std::optional<planned_weights> planned =
      plan_weights(*o.shape.command, o.weights, chosen.schedule, lowering, how);
  if (planned) lowering.weights = planned->chosen.weights;
  ashlar::program low = lower(chosen.schedule, lowering);
  must_be_taken(o.late, [&low](int from, int to) { return is_taken(low, from, to); });
  delay_links(links, o.late, o.shape.cost.others, scale);
  must_have_effect(*o.shape.command, effects_on(how, low, chosen.name));
  at.say("simulating its program");
  ashlar::simulation timed = simulate(low, how);
  at.say("bounding it");
  auto const least = program_bound(chosen.schedule, low, how), other = schedule_bound(chosen.schedule);
  ashlar::part_costs const parts = parts_of(o.shape.cost);
  std::optional<ashlar::part_timeline> of_parts;
  if (ashlar::schedule const& s = chosen.schedule; are_sums_of(s.cost.passes, parts, s.stage_count()))
    of_parts = time_parts(s, parts);
  simulated_schedule r{std::move(chosen), std::move(low), std::move(timed), least, other};
  r.parts = std::move(of_parts);
  r.lowering = std::move(lowering);
  if (planned) r.by_pytorch = std::move(planned->by_pytorch);
  if (o.slack) {
    at.say("delaying its links");
    r.slacks = link_slacks(r.low, how);
  }
  return r;
}

int simulate_program(simulate_options const& o) {
  output const to(o.output);
  certificates proofs(o.certificate);
  simulated_schedule const r = run(o);
  if (o.format == "part-trace" && !r.parts)
    throw usage_error(
        "--as part-trace needs to know what passes consist of: --costs FILE with parts that its passes "
        "are the sums of");
  to.write(o.format == "json"    ? dumped(json_of(r)) + "\n"
           : o.format == "trace" ? trace_of(r)
           : o.format == "pytorch-comms"
               ? data_of(r.chosen.schedule, r.chosen.name, o.format, ashlar::csv_dialect::detect,
                         r.chosen.scale, r.lowering)
           : o.format == "part-trace" ? trace_of_parts(r)
                                      : text_of(r));
  proofs.add(r.chosen.schedule, r.chosen.name, r.chosen.scale);
  proofs.add(r.low, r.chosen.name);
  if (r.least)
    proofs.refuse("the bound of the simulated makespan of " + r.chosen.name,
                  "it is of transfers and collectives, too");
  return proofs.write();
}

void add_link_options(CLI::App& command, simulate_options& o) {
  auto const number = [&](char const* flag, auto& value, char const* help) {
    add_number(command, flag, value, 0, ashlar::max_tick - 1, help)->default_str("");
  };
  auto const time = [&](char const* flag, char const* help) {
    add_duration(command, flag, o.shape.cost.others, 0, help, ashlar::max_tick - 1);
  };
  time("--latency", "what a transfer takes before its bytes (default: as --transfer)");
  number("--bandwidth", o.bandwidth,
         "bytes per tick, or per unit of time where times have one; 0: bytes take no time");
  time("--inter-latency", "between nodes (default: as --latency)");
  number("--inter-bandwidth", o.between_bandwidth, "between nodes (default: as --bandwidth)");
  add_link_option(command, o.late, o.shape.cost.others);
  add_number(command, "--node-size", o.node_size, 0, most_devices,
             "devices of a node; 0: all are in one");
  add_bytes(command, "--bytes", o.message, "a message: an activation or its gradient");
  add_stage_bytes(command, o.bytes);
  add_bytes(command, "--weight-stash-bytes", o.bytes.weight_stash,
            "what an input pass of a p-th of the model keeps for its weight pass, besides the stash");
  add_bytes(
      command, "--sequence-state-bytes", o.bytes.sequence_state,
      "what a chunk of a sequence leaves for the next on a p-th of the model; its gradient is as large");
  time("--optimizer-ticks", "a stage's optimizer step; a shard's is shorter");
  time("--ring-latency", "latency of each step of a collective's ring");
  number("--ring-bandwidth", o.ring_bandwidth,
         "bytes per tick, or per unit of time where times have one; 0: bytes take no time");
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
  add_residency_options(*command, o->weights);
  add_offload_option(*command, o->host);
  add_host_link_options(*command, o->host, o->shape.cost.others);
  add_tying_option(*command, o->lowering);
  for (CLI::Option* const size :
       {add_bytes(*command, "--tied-weight-bytes", o->tied.weights, "the tied matrix, once per device"),
        add_bytes(*command, "--tied-optimizer-bytes", o->tied.optimizer_state, "its optimizer state"),
        add_bytes(*command, "--tied-gradient-bytes", o->tied.weight_gradient, "its gradient")})
    size->needs("--tie-embeddings");
  add_choice<transfer_order>(
      *command, "--transfer-order", o->lowering.rest.transfers,
      {{"finish-time", transfer_order::finish_time}, {"asap", transfer_order::asap}},
      "by when the producer of a message ends (finish-time, the default), or as frameworks list them "
      "(asap)");
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
  command->add_flag("--slack", o->slack,
                    "how much longer the transfers of each link may take before the step does");
  add_format_option(
      *command, o->format, {"text", "json", "trace", "part-trace", "pytorch-comms"},
      "text, json, or trace for chrome://tracing and Perfetto; part-trace: of the parts of "
      "passes, on two resources a device; pytorch-comms: the program, as `emit` writes it");
  add_output_option(*command, o->output);
  add_certificate_option(*command, o->certificate);
  command->footer(
      "Costs and sizes are those of a p-th of the model and of whole micro-batches: with two stages per "
      "device, each has\n"
      "half of them. --bytes is the size of a message.");
  command->callback([&chosen, o] { chosen = [o] { return simulate_program(*o); }; });
}

}  // namespace tool
