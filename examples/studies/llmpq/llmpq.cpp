// Serving plans (Zhao et al., LLM-PQ, 2024): which device serves which layers in how many bits, what two
// phases take by formula and by simulation of their schedule, memory estimates; and predicted against
// logged throughput of the plans in DATA_DIR (layer_latency_*.csv, plans.json, measured_throughput.csv).
#include "llmpq.hpp"

#include "../report.hpp"
#include <ashlar/lower.hpp>
#include <ashlar/plan.hpp>
#include <ashlar/prove.hpp>
#include <ashlar/simulate.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace ashlar;
using namespace llmpq;
using systems::report;
using json = nlohmann::json;

tick bytes_of_megabytes(double megabytes) {
  return static_cast<tick>(std::llround(megabytes * 1048576));
}

int rounded_up(int a, int b) { return (a + b - 1) / b; }

two_phase shape_of(json const& row) {
  int const batch = row["global_batch"];
  return {.prefills = rounded_up(batch, row["prefill_micro_batch"]),
          .groups = rounded_up(batch, row["decode_micro_batch"]),
          .tokens = row["mu_n"].get<int>() - 1};
}

serving_problem problem_of(json const& row) {
  serving_problem problem{.variants = {}, .limit = {}, .shape = shape_of(row)};
  double const theta = row["theta"];
  std::size_t const widths = row["bits"].size();
  for (std::size_t d = 0; d < row["devices"].size(); ++d) {
    problem.limit.push_back(bytes_of_megabytes(row["device_mem_MB"][d]));
    problem.variants.emplace_back();
    for (json const& omega : row["omega"]) {
      problem.variants.back().emplace_back();
      for (std::size_t w = 0; w < widths; ++w)
        problem.variants.back().back().push_back(
            {{ticks_of(row["prefill_ms_per_group"][d][w]), ticks_of(row["decode_ms_per_group"][d][w])},
             bytes_of_megabytes(row["layer_mem_MB"][w]),
             ticks_of(theta * omega[w].get<double>())});
    }
  }
  return problem;
}

bool has_plan(json const& row) { return row.contains("objective") && row["objective"].is_number(); }

void check_plan(json const& row, std::size_t number, report& r) {
  std::string const where = "plan " + std::to_string(number);
  serving_problem const problem = problem_of(row);
  serving_plan const plan = plan_serving(problem);
  r.same(where + " exists", !plan.device.empty(), has_plan(row));
  if (plan.device.empty()) {
    std::printf(
        "%s: nothing fits; device %d (%s) is short of %.3f MB for the layers that remain, in the fewest "
        "bits\n",
        where.c_str(), plan.short_device,
        row["devices"][static_cast<std::size_t>(plan.short_device)].get<std::string>().c_str(),
        static_cast<double>(plan.missing) / 1048576);
    serving_problem enough = problem, too_little = problem;
    auto const d = static_cast<std::size_t>(plan.short_device);
    enough.limit[d] += plan.missing;
    too_little.limit[d] += plan.missing - 1;
    r.holds(where + " exists with what it is short of", !plan_serving(enough).device.empty());
    r.holds(where + " does not exist with a byte less", plan_serving(too_little).device.empty());
    return;
  }
  if (!has_plan(row)) return;
  r.near(where + ", objective", ms_of(plan.objective), row["objective"], 1e-4);
  if (!row.contains("assignment")) return;
  serving_plan theirs;
  for (json const& layer : row["assignment"]) {
    theirs.device.push_back(layer[0]);
    theirs.width.push_back(layer[1]);
  }
  tick const objective = objective_of(problem, theirs);
  r.near(where + ", objective of their assignment", ms_of(objective), row["recomputed"], 1e-7);
  r.holds(where + " is no worse than theirs", plan.objective <= objective);
  std::vector<stage_load> const loads = loads_of(problem, theirs);
  for (std::size_t d = 0; d < loads.size(); ++d) {
    std::string const on = where + ", device " + std::to_string(d);
    r.near(on + ", prefill", ms_of(loads[d].times.prefill), row["stage_prefill_ms"][d], 1e-7, 1e-4);
    r.near(on + ", decode", ms_of(loads[d].times.decode), row["stage_decode_ms"][d], 1e-7, 1e-4);
    r.same(on + ", memory", loads[d].memory, bytes_of_megabytes(row["stage_mem_MB"][d]));
    r.holds(on + ", fits", loads[d].memory <= problem.limit[d]);
  }
}

// Checks the time of a group of layers on each device, from the table of single layers; and its memory.
void check_inputs(json const& row, std::size_t number, latency_table const& table, report& r) {
  std::string const where = "plan " + std::to_string(number);
  int const group = row["group"];
  for (std::size_t w = 0; w < row["bits"].size(); ++w) {
    int const bits = row["bits"][w];
    for (std::size_t d = 0; d < row["devices"].size(); ++d) {
      std::string const device = row["devices"][d],
                        on = where + ", " + device + ", " + std::to_string(bits) + " bits";
      for (std::string const phase : {"prefill", "decode"}) {
        int const batch = row[phase + "_micro_batch"];
        if (table.has({device, phase, bits}, batch))
          r.near(on + ", " + phase + " of a group", group * table.ms({device, phase, bits}, batch),
                 row[phase + "_ms_per_group"][d][w], 1e-6);
      }
    }
    // The table is for prompts of 512 tokens; the estimate is in whole megabytes.
    byte_count const layer =
        layer_bytes(opt_of(row["layers"]), bits)
        + cache_bytes(opt_of(row["layers"]), row["global_batch"], 512 + row["mu_n"].get<int>());
    r.same(where + ", megabytes of a group in " + std::to_string(bits) + " bits",
           (group * layer + (1 << 20) - 1) >> 20, row["layer_mem_MB"][w].get<byte_count>());
  }
}

std::vector<phase_times> times_of(json const& row) {
  std::vector<phase_times> times;
  for (std::size_t d = 0; d < row["prefill_stage_ms"].size(); ++d)
    times.push_back({ticks_of(row["prefill_stage_ms"][d]), ticks_of(row["decode_stage_ms"][d])});
  return times;
}

void check_formula(json const& row, std::size_t number, report& r) {
  std::string const where = "two phases " + std::to_string(number);
  two_phase const shape{row["prefill_micro_batches"], row["decode_micro_batches"],
                        row["mu_n"].get<int>() - 1};
  std::vector<phase_times> const times = times_of(row);
  two_phase_estimate const formula = two_phase_formula(shape, times);
  r.near(where + ", prefill by the formula", ms_of(formula.prefill), row["prefill_ms"], 0, 0.01);
  r.near(where + ", decode by the formula", ms_of(formula.decode), row["decode_ms"], 0, 0.01);
  double const sum = ms_of(formula.prefill + formula.decode);
  r.near(where + ", both by the formula", sum, row["e2e_ms"], 0, 0.01);
  schedule const s = two_phase_schedule(shape, times);
  program const steps = lower(s);
  r.holds(where + ", proved", check(steps).ok());
  double const simulated = ms_of(simulate(steps, {.cost = s.cost}).makespan());
  r.near(where + ", simulated", simulated, row["simulated_two_phase_ms"], 0, 0.01);
  std::printf("%12.2f %14.2f %13.1f %% %11.1f %%\n", sum, simulated, 100 * (sum - simulated) / simulated,
              100 * (ms_of(formula.decode) / (simulated - ms_of(formula.prefill)) - 1));
}

// The files give neither batch nor lengths. So the check is only that keys and values are those of a
// whole number of tokens, and that layers are in the widths that exist.
void check_memory(json const& row, json const& gold, report& r) {
  std::string const name = row["model"];
  model const m = bloom_of(name);
  auto const near_bytes = [&](std::string const& what, json const& megabytes, byte_count bytes) {
    r.same(name + ", " + what, bytes, bytes_of_megabytes(megabytes));
  };
  for (char const* from : {"estimated_MB", "notebook_MB"}) {
    near_bytes("embedding and head", row[from]["prepost"], ends_bytes(m));
    byte_count const cache = bytes_of_megabytes(row[from]["kv"]),
                     of_a_token = m.layers * cache_bytes(m, 1, 1);
    near_bytes("keys and values", row[from]["kv"], cache / of_a_token * of_a_token);
  }
  for (json const& whole : gold["notebook_memory_real_vs_est"]) {
    if (whole["model"] != name) continue;
    byte_count const layers = bytes_of_megabytes(whole["est_MB"]) - ends_bytes(m)
                              - bytes_of_megabytes(row["estimated_MB"]["kv"]);
    r.holds(name + ", the rest are layers in 3, 4, 8 or 16 bits", is_sum_of_layers(m, layers));
    double const real = whole["real_MB"], estimate = whole["est_MB"];
    std::printf("%s: estimated %.1f MB, measured %.1f MB (%.2f %%)\n", name.c_str(), estimate, real,
                100 * (estimate - real) / real);
  }
}

// The best plan in the authors' log: layers in order over the devices of the cluster ("3xT4+1xV100"),
// and an objective that adds theta times what the widths lose, which the file does not have.
void check_logged(json const& plan, report& r) {
  std::string const where = "logged plan of " + plan["model"].get<std::string>();
  std::map<std::string, int> devices, in_order;
  std::istringstream cluster(plan["cluster"].get<std::string>());
  for (std::string kind; std::getline(cluster, kind, '+');) {
    std::size_t const times = kind.find('x');
    devices[kind.substr(times + 1)] += std::stoi(kind.substr(0, times));
  }
  for (json const& device : plan["order"]) ++in_order[device];
  r.same(where + ", devices", json(in_order), json(devices));
  r.same(where + ", stages", plan["partition"].size(), plan["order"].size());
  int next = 0;
  for (json const& stage : plan["partition"]) {
    r.same(where + ", first layer of a stage", stage[0].get<int>(), next);
    r.holds(where + ", a stage has layers", stage[1] > stage[0]);
    next = stage[1];
  }
  r.holds(where + ", all layers", has_opt(next));
  double const loss =
      (plan["objective"].get<double>() - plan["T_sum"].get<double>()) / plan["theta"].get<double>();
  std::printf("%s: %.6f lost by its widths\n", where.c_str(), loss);
  r.holds(where + ", its widths lose something", loss >= 0);
}

}  // namespace

int main(int argc, char** argv) {
  return systems::run(argc, argv, [](json const& gold, std::string const& folder, report& r) {
    std::size_t number = 0;
    latency_table const table = folder.empty() ? latency_table() : latency_table(folder);
    for (json const& row : gold.at("ilp")) {
      check_plan(row, number, r);
      if (!folder.empty() && has_opt(row["layers"])) check_inputs(row, number, table, r);
      ++number;
    }
    number = 0;
    std::printf("  formula ms   simulated ms      difference   of decode\n");
    for (json const& row : gold.at("e2e_formula")) check_formula(row, number++, r);
    for (json const& row : gold.at("memory_estimator_check")) check_memory(row, gold, r);
    if (gold.contains("log_best_plan")) check_logged(gold["log_best_plan"], r);
    if (!folder.empty()) compare_with_log(folder, table, r);
  });
}
