// ashlar partition: a graph of operators cut into stages for a number of devices.
#include "command.hpp"
#include "files/data_formats.hpp"
#include "files/files.hpp"
#include "files/operator_files.hpp"
#include "options/byte_options.hpp"
#include "options/limits.hpp"
#include "options/number_option.hpp"
#include "options/output_options.hpp"
#include "report/certificates.hpp"
#include "report/counted.hpp"
#include "report/partition_certificate.hpp"
#include "report/pictures.hpp"
#include "report/printed.hpp"
#include "report/table.hpp"
#include <ashlar/model/in_flight.hpp>
#include <ashlar/plan/graphs/graph_plan.hpp>
#include <ashlar/render/text_graph.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace tool {

namespace {

struct partition_options {
  std::string model;
  ashlar::operator_machine machine = {.device_count = 4};
  ashlar::operator_batch batch = {.samples = 32, .largest_micro_batch = 8};
  bool rated = false;
  std::string format = "text";
  std::string output = "-", certificate;
};

constexpr int most_named = 6;  // operators of a stage in a row of the table

std::string operators_of(ashlar::planned_stage const& stage, std::vector<std::string> const& names) {
  std::string all;
  for (std::size_t i = 0; i < stage.operators.size(); ++i) {
    if (i == most_named) return all + fmt::format(" and {} more", stage.operators.size() - i);
    all += (i == 0 ? "" : " ") + names[static_cast<std::size_t>(stage.operators[i])];
  }
  return all;
}

std::string text_of(ashlar::simulated_plan const& best, named_operators const& m,
                    partition_options const& o) {
  ashlar::graph_plan const& plan = best.chosen;
  std::vector<int> const held = peak_activations(schedule_of(m.model, plan, o.batch.samples));
  std::vector<std::vector<std::string>> rows{
      {"stage", "operators", "devices", "micro-batch", "busy", "held", "memory", "after it"}};
  int devices = 0;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    ashlar::planned_stage const& stage = plan.stages[s];
    ashlar::operator_cost const sum = ashlar::plan_detail::sum_of(m.model, stage);
    std::string after;
    for (int next : plan.graph.successors(static_cast<int>(s)))
      after += (after.empty() ? "" : " ") + std::to_string(next);
    devices += stage.how.devices;
    rows.push_back({std::to_string(s), operators_of(stage, m.names), std::to_string(stage.how.devices),
                    std::to_string(stage.how.micro_batch),
                    std::to_string(busy_of_stage(sum, stage.how, o.batch.samples)),
                    std::to_string(held[s]),
                    text_of_bytes(memory_of_stage(sum, stage.how, held[s] * stage.how.micro_batch,
                                                  o.batch.samples)),
                    after.empty() ? "-" : after});
  }
  std::string text = table(rows, 2);
  text += fmt::format("\n{} on {} of {}, depth {}; {} per step, simulated\n",
                      counted(static_cast<long long>(plan.stages.size()), "stage"), devices,
                      counted(o.machine.device_count, "device"), depth(plan.graph),
                      counted(best.chosen_step, "tick"));
  if (best.differs())
    text += fmt::format(
        "the plan whose busiest device has least to do, {} instead of {}, takes {} per step\n",
        best.rated.time, plan.time, counted(best.rated_step, "tick"));
  if (!best.rated.is_exact)
    text += "not all partitions were tried: the busiest device may have less to do in others\n";
  return text;
}

// The stages, the load that no partition goes below, and the schedule over the stages.
void certify(certificates& proofs, ashlar::simulated_plan const& best, named_operators const& m,
             partition_options const& o, ashlar::schedule const& s, std::string const& title) {
  bool const is_exact = best.rated.is_exact;
  partition_question const asked{o.model, m.model, o.machine, o.batch};
  proofs.add(certificate_of(asked, best.rated, best.rated));
  if (best.differs()) proofs.add(certificate_of(asked, best.chosen, best.rated));
  if (!is_exact)
    proofs.refuse("the least load of a busiest device",
                  "not all partitions were tried; its bound is an even share of the work");
  if (o.machine.bandwidth > 0)
    proofs.refuse("the simulated step", "messages take time there, and have no certificate");
  else
    proofs.add(s, title, {});
}

int partition(partition_options const& o) {
  output const to(o.output);
  certificates proofs(o.certificate);
  named_operators const m = read_operators(o.model);
  if (o.batch.samples % o.batch.largest_micro_batch != 0)
    throw usage_error("--samples must be a multiple of --largest-micro-batch");
  ashlar::simulated_plan const best = best_simulated_plan(m.model, o.machine, o.batch, o.rated ? 0 : 50);
  if (!best.chosen.found()) {
    fmt::print(stderr, "ashlar: no partition {} the memory of {}\n",
               best.rated.is_exact ? "fits into" : "was found that fits into",
               counted(o.machine.device_count, "device"));
    if (best.rated.is_exact)
      proofs.add(certificate_of_none({o.model, m.model, o.machine, o.batch}));
    else
      proofs.refuse("that no partition fits", "not all partitions were tried");
    proofs.write();
    return invalid;
  }
  ashlar::schedule const s = schedule_of(m.model, best.chosen, o.batch.samples);
  std::string const title = "1F1B over " + counted(s.stage_count(), "stage");
  if (o.format == "text")
    to.write(printable_lines(text_of(best, m, o)));
  else if (o.format == "json")
    to.write(data_of(s, title, o.format, ashlar::csv_dialect::detect, {}));
  else
    to.write(svg_of(s, title, {}, {.stages = o.format == "graph", .memory = o.format == "svg"}));
  if (o.certificate.empty()) return done;
  certify(proofs, best, m, o, s, title);
  return proofs.write();
}

}  // namespace

void add_partition(CLI::App& app, action& chosen) {
  auto* const command =
      app.add_subcommand("partition", "Cut a graph of operators into a graph of stages");
  auto const o = std::make_shared<partition_options>();
  command->add_option("model", o->model, "file of operators; - is standard input")
      ->required()
      ->type_name("FILE");
  add_number(*command, "-p,--devices", o->machine.device_count, 1, most_devices,
             "devices; a stage may have several, which share each of its micro-batches");
  add_number(*command, "--samples", o->batch.samples, 1, most_micro_batches, "samples of a step");
  add_number(*command, "--largest-micro-batch", o->batch.largest_micro_batch, 1, 1 << 15,
             "samples of the largest micro-batch that a stage may have; sizes are powers of two");
  add_bytes(*command, "--memory", o->machine.memory, "of a device (default: unlimited)")
      ->default_str("");
  add_number(*command, "--bandwidth", o->machine.bandwidth, 0, most_memory,
             "bytes per tick between two stages; 0: unlimited");
  command->add_flag(
      "--rated", o->rated,
      "take the partition whose busiest device has the least work (default: that with the shortest "
      "simulated step among those whose busiest device has up to 50 % more)");
  add_format_option(*command, o->format, {"text", "json", "svg", "graph"},
                    "text: a table of stages; json: the schedule over them, which other commands read; "
                    "svg: its picture; graph: a picture of the stages");
  add_output_option(*command, o->output);
  add_certificate_option(*command, o->certificate);
  command->footer(
      "A stage has the sums of its operators' ticks and bytes. In the schedule, one device stands for "
      "all\n"
      "devices of a stage.");
  command->callback([&chosen, o] { chosen = [o] { return partition(*o); }; });
}

}  // namespace tool
