// Published steps of Megatron on A100s (Korthikanti et al., 2022): step times by simulating the lowered
// schedule, each model with constants fitted to the other three; parameter, optimizer and activation
// memory by the published formulas, activations in flight counted in the schedule. DATA_DIR has runs.csv
// and memory.csv; GOLD.json says how near.
#include "../csv.hpp"
#include "../formulas/step_model.hpp"
#include "../least_squares.hpp"
#include "../report.hpp"
#include <ashlar/catalog/depth_first.hpp>
#include <ashlar/catalog/one_f_one_b.hpp>
#include <ashlar/plan/parts/partition.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/repeat.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace ashlar;
using namespace formulas;
using systems::report;
using json = nlohmann::json;

struct published_run {
  std::string name;
  transformer model;
  training_layout layout;
  int chunks = 1, micro_batches = 1;
  double seconds = 0;

  // Embedding and head are left out, as in the published formulas.
  stage_division division() const {
    return {uniform_partition(model.layers, layout.pipeline * chunks), false};
  }
  // Passes come in groups of p micro-batches, as in Megatron.
  schedule passes(int count) const {
    devices const p{layout.pipeline};
    return chunks == 1 ? repeat(catalog::one_f_one_b(p), ashlar::micro_batches{count})
                       : repeat(catalog::depth_first(p, ashlar::chunks{chunks}, layout.pipeline),
                                ashlar::micro_batches{count});
  }
};

published_run read_run(systems::csv_row const& row) {
  auto const number = [&](char const* key) { return std::stoi(row.at(key)); };
  bool const full = row.at("recompute") == "full";
  published_run r{.name = row.at("model"),
                  .model = {.layers = number("layers"),
                            .hidden = std::stod(row.at("hidden")),
                            .feed_forward = std::stod(row.at("feed_forward")),
                            .heads = std::stod(row.at("heads")),
                            .sequence = std::stod(row.at("sequence"))},
                  .layout = {.micro_batch = number("micro_batch"),
                             .tensor = number("tensor"),
                             .pipeline = number("pipeline"),
                             .data = number("data"),
                             .again = full ? recomputation::full : recomputation::attention,
                             .sequence_parallel = row.at("sequence_parallel") == "yes"},
                  .chunks = number("interleaving")};
  r.micro_batches = number("batch") / (r.layout.data * r.layout.micro_batch);
  r.seconds = std::stod(row.at("measured_step_s"));
  return r;
}

// Seconds of the passes of a device that are not overlapped, at constants: turns times a micro-batch.
double unhidden(published_run const& r, device_machine const& machine, step_constants const& c) {
  double sum = 0;
  for (stage_seconds const& s :
       stage_times(r.model, r.layout, sharding_level::none, r.division(), machine, c))
    sum += s.passes.both();
  double const turns = r.micro_batches + (r.layout.pipeline - 1.0) / r.chunks;
  return sum / r.layout.pipeline * turns;
}

step_constants fitted_without(std::string const& name, std::vector<published_run> const& all,
                              device_machine const& machine) {
  std::vector<std::vector<double>> rows;
  std::vector<double> measured;
  for (published_run const& r : all)
    if (r.name != name) {
      rows.push_back({unhidden(r, machine, {1, 0}), unhidden(r, machine, {0, 1})});
      measured.push_back(r.seconds);
    }
  std::vector<double> const w = fit_nonnegative(rows, measured);
  return {w[0], w[1]};
}

void check_steps(report& r, json const& gold, std::vector<published_run> const& all) {
  device_machine const machine{.flops = gold.at("peak_flops"),
                               .inside = gold.at("node_bytes_per_s"),
                               .between = gold.at("network_bytes_per_s")};
  double sum = 0, largest = 0, sum_of_none = 0;
  for (published_run const& run : all) {
    step_constants const c = fitted_without(run.name, all, machine);
    auto const predicted = [&](step_constants const& with) {
      return simulated_step(
          run.passes(run.micro_batches),
          stage_times(run.model, run.layout, sharding_level::none, run.division(), machine, with),
          message_mode::beside);
    };
    double const error = predicted(c) / run.seconds - 1, of_none = predicted({}) / run.seconds - 1;
    std::printf(
        "%s, %s recomputation: measured %.2f s, error %+.1f %% with constants %.3f and %.3f of the "
        "others, %+.1f %% at the data sheet\n",
        run.name.c_str(), run.layout.again == recomputation::full ? "full" : "attention", run.seconds,
        100 * error, c.products, c.exchange, 100 * of_none);
    sum += std::abs(error);
    sum_of_none += std::abs(of_none);
    largest = std::max(largest, std::abs(error));
  }
  auto const count = static_cast<double>(all.size());
  std::printf("steps: mean error %.2f %%, largest %.2f %%; fitted on none %.1f %%\n", 100 * sum / count,
              100 * largest, 100 * sum_of_none / count);
  r.holds("mean error of the steps", sum / count <= gold.at("step_mean_error"));
  r.holds("largest error of the steps", largest <= gold.at("step_largest_error"));
}

constexpr double gib = 1024.0 * 1024 * 1024;

void check_memory(report& r, json const& gold, std::vector<published_run> const& all,
                  std::string const& path) {
  double sum = 0;
  int count = 0;
  for (systems::csv_row const& row : systems::read_csv(path)) {
    auto const found = std::find_if(all.begin(), all.end(),
                                    [&](published_run const& x) { return x.name == row.at("model"); });
    r.holds(row.at("model") + " has a run", found != all.end());
    if (found == all.end()) continue;
    // The peak of the device that holds most, of parameters and optimizer state, or of what passes keep.
    auto const peak = [&](recomputation again, bool sequence_parallel, bool passes) {
      training_layout l = found->layout;
      l.again = again;
      l.sequence_parallel = sequence_parallel;
      memory_model m = stage_bytes(found->model, l, sharding_level::none, found->division(), {});
      for (stage_memory& s : m.stages)
        if (passes)
          s.weights = s.weight_gradient = s.optimizer_state = 0;
        else
          s.stash = 0;
      std::vector<byte_count> const peaks =
          peak_memory(found->passes(std::min(found->micro_batches, 4 * l.pipeline)), m);
      return static_cast<double>(*std::max_element(peaks.begin(), peaks.end()));
    };
    auto const compare = [&](char const* column, double computed, bool figure) {
      if (row.at(column).empty()) return;
      double const expected = std::stod(row.at(column)), error = std::abs(computed / expected - 1);
      std::string const what = row.at("model") + " " + row.at("what") + ", " + column;
      if (!figure) return r.near(what, computed, expected, gold.at("memory_formula_error"));
      sum += error;
      ++count;
    };
    using enum recomputation;
    if (row.at("what") == "parameters and optimizer GiB") {
      compare("none", peak(none, false, false) / gib, false);
    } else if (row.at("what") == "activations GiB") {
      compare("none", peak(none, false, true) / gib, false);
      compare("both", peak(attention, true, true) / gib, false);
    } else {
      double const whole = peak(none, false, true) / 100;
      compare("sequence_parallel", peak(none, true, true) / whole, true);
      compare("attention_recompute", peak(attention, false, true) / whole, true);
      compare("both", peak(attention, true, true) / whole, true);
      compare("full_recompute", found->layout.again == full ? peak(full, false, true) / whole : 0, true);
    }
  }
  std::printf("activations by recomputation: mean error %.2f %% of the figures\n", 100 * sum / count);
  r.holds("mean error of the figures", sum / count <= gold.at("memory_figure_mean_error"));
}

}  // namespace

int main(int argc, char** argv) {
  return systems::run(argc, argv, [](json const& gold, std::string const& data, report& r) {
    std::vector<published_run> all;
    for (systems::csv_row const& row : systems::read_csv(data + "/runs.csv"))
      all.push_back(read_run(row));
    check_steps(r, gold, all);
    check_memory(r, gold, all, data + "/memory.csv");
  });
}
