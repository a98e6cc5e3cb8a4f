// ashlar trace-diff: why a measured step takes longer than the plan.
#include "command.hpp"
#include "files/files.hpp"
#include "options/effects.hpp"
#include "options/number_option.hpp"
#include "options/output_options.hpp"
#include "report/printed.hpp"
#include "report/trace_comparison.hpp"

#include <memory>
#include <string>

namespace tool {

namespace {

struct trace_diff_options {
  std::string measured, planned;
  int most = 10;
  std::string format = "text";
  std::string output = "-";
};

int write_difference(CLI::App const& command, trace_diff_options const& o) {
  must_have_effect(command, {{"--most", o.format != "trace", "with --as trace, which has all passes"}});
  output const to(o.output);
  trace_comparison const c = compared(read_trace(o.measured), read_trace(o.planned), o.most);
  to.write(o.format == "html"    ? html_of(c)
           : o.format == "trace" ? overlay_of(c)
                                 : printable_lines(text_of(c)));
  return done;
}

}  // namespace

void add_trace_diff(CLI::App& app, action& chosen) {
  auto* const command = app.add_subcommand(
      "trace-diff",
      "Compare a measured trace with a simulated one, and name the passes that differ most");
  auto const o = std::make_shared<trace_diff_options>();
  command
      ->add_option(
          "measured", o->measured,
          "what `ashlar train --trace` wrote, or PyTorch's profiler: a trace, or a folder with one "
          "of each rank")
      ->required()
      ->type_name("MEASURED");
  command
      ->add_option("planned", o->planned,
                   "what `ashlar simulate --as trace` wrote, or another measured one")
      ->required()
      ->type_name("PLANNED");
  add_number(*command, "--most", o->most, 1, 1'000'000, "passes to name");
  add_format_option(*command, o->format, {"text", "html", "trace"},
                    "text; html: a page with both; or trace for chrome://tracing and Perfetto");
  add_output_option(*command, o->output);
  command->callback(
      [&chosen, command, o] { chosen = [command, o] { return write_difference(*command, *o); }; });
}

}  // namespace tool
