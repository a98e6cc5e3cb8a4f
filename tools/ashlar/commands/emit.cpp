// ashlar emit: a schedule for other programs.
#include "command.hpp"
#include "files/data_formats.hpp"
#include "files/files.hpp"
#include "options/dialect_option.hpp"
#include "options/effects.hpp"
#include "options/lowering_options.hpp"
#include "options/output_options.hpp"
#include "options/shape_options.hpp"
#include "report/pictures.hpp"
#include "report/terminal.hpp"

#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

namespace tool {

namespace {

struct emit_options {
  shape_options shape;
  lowering_options lowering;
  std::string format;
  std::string output = "-";
  std::string dialect = "detect";
  picture_request picture;
};

std::vector<effect> effects_of(emit_options const& o) {
  std::vector<effect> all = effects_of(o.picture, o.format);
  all.push_back(effect_of_dialect(o.format));
  for (char const* flag : {"--data-ranks", "--sharding", "--weight-buffers", "--reduction", "--prefetch",
                           "--optimizer-step"})
    all.push_back({flag, o.format == "pytorch-comms",
                   fmt::format("with --as {}, which has the schedule without its program: it is for "
                               "pytorch-comms",
                               o.format)});
  all.push_back({"--data-ranks", o.lowering.rest.sharding != ashlar::sharding_level::none,
                 "on a file for PyTorch without --sharding"});
  return all;
}

// Effects of costs on a file that has an order of passes without times.
std::vector<effect> effects_on_order(emit_options const& o, std::string const& name) {
  bool const follows_costs =
      o.shape.improve > 0 || (!names_file(o.shape.name) && entry_named(o.shape.name).is_searched);
  std::vector<effect> all;
  for (char const* flag : cost_flags())
    all.push_back({flag, o.format != "pytorch" || follows_costs,
                   fmt::format("with --as pytorch: the order of {} is the same for all costs", name)});
  return all;
}

int emit(emit_options const& o) {
  must_have_effect(*o.shape.command, effects_of(o));
  output const to(o.output);
  phase_line at;
  at.say("making the schedule");
  chosen_schedule const chosen = choose(o.shape);
  ashlar::lower_options const lowering = lowering_of(o.lowering, chosen.schedule.graph);
  must_have_effect(*o.shape.command, effects_on(lowering, chosen.schedule, chosen.name));
  must_have_effect(*o.shape.command, effects_on_order(o, chosen.name));
  at.say("writing it");
  std::string text;
  if (o.format == "html")
    text = html_of(chosen, o.shape, o.picture);
  else if (o.format == "svg")
    text = svg_of(chosen, o.picture);
  else
    text =
        data_of(chosen.schedule, chosen.name, o.format, dialect_of(o.dialect), chosen.scale, lowering);
  at.end();
  to.write(text);
  return done;
}

}  // namespace

void add_emit(CLI::App& app, action& chosen) {
  auto* const command = app.add_subcommand("emit", "Write a schedule in a format for other programs");
  auto const options = std::make_shared<emit_options>();
  add_shape_options(*command, options->shape);
  add_format_option(
      *command, options->format,
      {"pytorch", "pytorch-comms", "json", "trace", "svg", "html", "frameworks"},
      "pytorch: compute-only CSV, one line per device; pytorch-comms: with transfers, reductions and "
      "gathers; json: schedule, times and metrics; trace: for chrome://tracing and Perfetto; svg: a "
      "picture; html: a page to explore it or to compare it with another; frameworks: the files and "
      "flags "
      "with which PyTorch, torchtitan and Megatron-Core run it")
      ->required();
  add_output_option(*command, options->output);
  add_dialect_option(*command, options->dialect);
  add_lowering_options(*command, options->lowering);
  add_picture_options(*command, options->picture);
  command->callback([&chosen, options] {
    if (!options->picture.against.empty()) options->shape.beside = {options->picture.against};
    chosen = [options] { return emit(*options); };
  });
}

}  // namespace tool
