#include "train/profile_report.hpp"

#include "files/files.hpp"
#include "report/counted.hpp"
#include "report/printed.hpp"
#include "report/table.hpp"
#include "train/train_report.hpp"
#include <ashlar/interop/json_costs.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace tool {

namespace {

std::string us(double ns) { return fmt::format("{:.1f}", ns * 1e-3); }
std::string quartiles(ashlar::measured_time const& s) { return us(s.low) + " - " + us(s.high); }

std::string line_of(char const* what, ashlar::measured_link const& l) {
  return fmt::format("{}: {} us ({}){}\n", what, us(l.latency.median), quartiles(l.latency),
                     l.bytes_per_second > 0 ? fmt::format(", {:.3f} GB/s", l.bytes_per_second * 1e-9)
                                            : ", and no more for its bytes");
}

bool goes_to_output(training const& t) { return t.options->costs == "-"; }

}  // namespace

nlohmann::ordered_json about_of(training const& t, processors computing, int processes) {
  train_options const& o = *t.options;
  return {{"backend", o.backend},
          {"schedule", o.shape.name},
          {"devices", t.program.device_count()},
          {"data_ranks", t.program.data_ranks},
          {"micro_batches", t.schedule.micro_batch_count()},
          {"processes", processes},
          {"processors", computing.count},
          {"steps", o.repeats},
          {"model",
           {{"blocks", t.shape.blocks},
            {"width", t.shape.width},
            {"heads", t.shape.heads},
            {"context", t.shape.context},
            {"sequences", t.shape.sequences},
            {"precision", o.precision}}}};
}

void report_begin(training const& t, std::size_t parameters) {
  if (!goes_to_output(t)) introduce(t, parameters);
}

void report_links(ashlar::measured_costs const& m, training const& t) {
  if (goes_to_output(t)) return;
  if (m.inside) fmt::print("{}", line_of("a message", *m.inside));
  if (m.between) fmt::print("{}", line_of("a message to another node", *m.between));
  if (m.ring) fmt::print("{}", line_of("a step of a sum over all", *m.ring));
  std::fflush(stdout);
}

void report_end(ashlar::measured_costs const& m, nlohmann::ordered_json const& about, training const& t,
                processors computing) {
  output(t.options->costs).write(dumped(to_json(m, about), 1) + "\n");
  if (goes_to_output(t)) return;
  std::vector<std::vector<std::string>> rows{{"stage", "pass", "median, us", "quartiles", "samples"}};
  for (std::size_t stage = 0; stage < m.stages.size(); ++stage)
    for (std::size_t kind = 0; kind < m.stages[stage].size(); ++kind)
      if (ashlar::measured_time const& s = m.stages[stage][kind]; s.samples > 0)
        rows.push_back({std::to_string(stage), ashlar::measured_passes[kind], us(s.median), quartiles(s),
                        std::to_string(s.samples)});
  fmt::print("{}", table(rows, 2));
  if (t.devices() > computing.count)
    fmt::print("{} share {}: they take longer than with one of its own for each\n",
               counted(t.devices(), "device"), counted(computing.count, computing.name));
}

}  // namespace tool
