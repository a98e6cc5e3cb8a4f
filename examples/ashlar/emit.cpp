// ashlar emit: a schedule for other programs.
#include "command.hpp"
#include "data_formats.hpp"
#include "dialect_option.hpp"
#include "files.hpp"
#include "lowering_options.hpp"
#include "output_options.hpp"
#include "pictures.hpp"
#include "shape_options.hpp"

#include <fmt/core.h>

#include <memory>
#include <string>

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

int emit(emit_options const& o) {
  must_suit(o.picture, o.format);
  if (o.format != "pytorch-comms" && o.lowering != lowering_options{})
    throw usage_error(
        fmt::format("--as {} writes the schedule, not its program: data-parallel ranks, "
                    "sharding, reductions and steps go with --as pytorch-comms only",
                    o.format));
  output const to(o.output);
  chosen_schedule const chosen = choose(o.shape);
  std::string text;
  if (o.format == "html")
    text = html_of(chosen, o.shape, o.picture);
  else if (o.format == "svg")
    text = svg_of(chosen, o.picture);
  else
    text = data_of(chosen.schedule, chosen.name, o.format, dialect_of(o.dialect), chosen.scale,
                   lowering_of(o.lowering, chosen.schedule.stage_count()));
  to.write(text);
  return done;
}

}  // namespace

void add_emit(CLI::App& app, action& chosen) {
  auto* const command = app.add_subcommand("emit", "Write a schedule in a format for other programs");
  auto const options = std::make_shared<emit_options>();
  add_shape_options(*command, options->shape);
  add_format_option(
      *command, options->format, {"pytorch", "pytorch-comms", "json", "trace", "svg", "html"},
      "pytorch: compute-only CSV, a line a device; pytorch-comms: with transfers, "
      "reductions and gathers; json: schedule, times and metrics; trace: for chrome://tracing and "
      "Perfetto; svg: a picture; html: a page to explore it or to compare it with another")
      ->required();
  add_output_option(*command, options->output);
  add_dialect_option(*command, options->dialect);
  add_lowering_options(*command, options->lowering);
  add_picture_options(*command, options->picture);
  command->footer(
      "Examples:\n"
      "  ashlar emit 1f1b -p 4 -m 8 --as pytorch -o 1f1b.csv\n"
      "  ashlar emit zb-h1 -p 4 -m 8 --as pytorch-comms --dialect i-b\n"
      "  ashlar emit depth-first --as pytorch-comms --data-ranks 2 --sharding optimizer\n"
      "  ashlar emit v-half -p 4 -m 8 --as svg --memory --transfers -o v-half.svg\n"
      "  ashlar emit towers.json --as svg --stages\n"
      "  ashlar emit v-half --as svg --block --dark -o v-half-block.svg\n"
      "  ashlar emit 1f1b -p 8 -m 32 --as html --against zb-h1 -o compare.html\n"
      "  ashlar emit zb-h1 --as json --transfer 1");
  command->callback([&chosen, options] { chosen = [options] { return emit(*options); }; });
}

}  // namespace tool
