// ashlar emit: a schedule for other programs.
#include "command.hpp"
#include "dialect_option.hpp"
#include "files.hpp"
#include "limits.hpp"
#include "shape_options.hpp"
#include <ashlar/interop/json.hpp>
#include <ashlar/interop/pytorch_comms.hpp>
#include <ashlar/interop/pytorch_csv.hpp>
#include <ashlar/lower.hpp>
#include <ashlar/render/chrome_trace.hpp>
#include <ashlar/render/svg.hpp>

#include <fmt/core.h>

#include <memory>
#include <string>

namespace tool {

namespace {

struct emit_options {
  shape_options shape;
  std::string format;
  std::string output = "-";
  std::string dialect = "detect";
  bool block = false;
};

std::string svg_of(chosen_schedule const& chosen, bool block) {
  std::string const title =
      fmt::format("{}, {} devices, {} micro-batches", chosen.entry->name, chosen.schedule.device_count(),
                  chosen.schedule.micro_batch_count());
  if (block)
    return ashlar::svg(chosen.block,
                       {.title = fmt::format("{}, the building block", chosen.entry->name)});
  std::size_t passes = 0;
  for (auto const& order : chosen.schedule.order) passes += order.size();
  if (passes > most_drawn)
    throw usage_error(
        fmt::format("a picture of {} passes is too large; the limit is {}", passes, most_drawn));
  return ashlar::svg(chosen.schedule, {.title = title});
}

std::string comms_of(chosen_schedule const& chosen, ashlar::csv_dialect dialect) {
  ashlar::program const lowered = ashlar::lower(chosen.schedule);
  if (std::string const why = ashlar::pytorch_obstacle(lowered); !why.empty())
    throw usage_error(fmt::format("PyTorch cannot run {}: {}", chosen.entry->name, why));
  return ashlar::pytorch_comms_csv(lowered, dialect);
}

// Bidirectional schedules and recompute have a compute-only form, too: the line tells the device.
std::string passes_of(chosen_schedule const& chosen, ashlar::csv_dialect dialect) {
  if (std::string const why = ashlar::pytorch_obstacle(ashlar::lower(chosen.schedule)); !why.empty())
    fmt::print(stderr, "ashlar: PyTorch cannot run {}: {}\n", chosen.entry->name, why);
  return ashlar::pytorch_csv(chosen.schedule, dialect);
}

int emit(emit_options const& o) {
  if (o.block && o.format != "svg") throw usage_error("--block goes with --as svg only");
  chosen_schedule const chosen = choose(o.shape);
  std::string text;
  if (o.format == "pytorch")
    text = passes_of(chosen, dialect_of(o.dialect));
  else if (o.format == "pytorch-comms")
    text = comms_of(chosen, dialect_of(o.dialect));
  else if (o.format == "json")
    text = ashlar::to_json(chosen.schedule, chosen.entry->name).dump() + "\n";
  else if (o.format == "trace")
    text = ashlar::chrome_trace(chosen.schedule);
  else
    text = svg_of(chosen, o.block);
  write_text(o.output, text);
  return done;
}

}  // namespace

void add_emit(CLI::App& app, action& chosen) {
  auto* const command = app.add_subcommand("emit", "Write a schedule in a format for other programs");
  auto const options = std::make_shared<emit_options>();
  add_shape_options(*command, options->shape);
  command
      ->add_option("--as", options->format,
                   "pytorch: compute-only CSV, a line a device; pytorch-comms: with transfers and "
                   "reductions; json: schedule, times and metrics; "
                   "trace: for chrome://tracing and Perfetto; svg: a picture")
      ->required()
      ->check(CLI::IsMember({"pytorch", "pytorch-comms", "json", "trace", "svg"}))
      ->type_name("FORMAT");
  command->add_option("-o,--output", options->output, "where to write; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  add_dialect_option(*command, options->dialect);
  command->add_flag("--block", options->block, "draw the building block (svg)");
  command->footer(
      "Examples:\n"
      "  ashlar emit 1f1b -p 4 -m 8 --as pytorch -o 1f1b.csv\n"
      "  ashlar emit zb-h1 -p 4 -m 8 --as pytorch-comms --dialect i-b\n"
      "  ashlar emit v-half -p 4 -m 8 --as svg -o v-half.svg\n"
      "  ashlar emit zb-h1 --as json --transfer 1");
  command->callback([&chosen, options] { chosen = [options] { return emit(*options); }; });
}

}  // namespace tool
