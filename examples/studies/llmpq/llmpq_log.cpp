// Compares predicted with logged throughput.
#include "../csv.hpp"
#include "../rank.hpp"
#include "llmpq.hpp"
#include <ashlar/lower.hpp>
#include <ashlar/plan.hpp>
#include <ashlar/simulate.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <set>
#include <stdexcept>
#include <vector>

namespace llmpq {

using namespace ashlar;
using json = nlohmann::json;

namespace {

std::string device_of(std::string const& name) {
  for (char const* known : {"T4", "V100", "P100"})
    if (name.find(known) != std::string::npos) return known;
  return name.find("80GB") != std::string::npos ? "A100-80GB" : "A100";
}

// Layers of other models take their share of weights of those of the table, which are OPT-30B's.
model model_of(json const& plan) {
  int layers = 0;
  for (json const& stage : plan["stages"]) layers = std::max(layers, stage["layers"][1].get<int>());
  return layers == 70 ? bloom_of("bloom") : opt_of(layers);
}

std::vector<phase_times> stage_times(json const& plan, latency_table const& table) {
  double const share = static_cast<double>(layer_bytes(model_of(plan), 16))
                       / static_cast<double>(layer_bytes(opt_of(48), 16));
  std::vector<phase_times> times;
  for (json const& stage : plan["stages"]) {
    double prefill = 0, decode = 0;
    for (auto const& [width, count] : stage["bits"].items()) {
      std::string const device = device_of(stage["device"]);
      int const bits = std::stoi(width);  // "8:tc-li" names a kernel, too
      prefill +=
          count.get<int>() * table.assumed_ms({device, "prefill", bits}, plan["prefill_micro_batch"]);
      decode +=
          count.get<int>() * table.assumed_ms({device, "decode", bits}, plan["decode_micro_batch"]);
    }
    times.push_back({ticks_of(share * prefill), ticks_of(share * decode)});
  }
  return times;
}

struct compared {
  std::string run;
  double formula = 0, simulated = 0, logged = 0;  // tokens per second
};

compared predict(std::string const& run, json const& plan, latency_table const& table, double logged) {
  int const batch = plan["global_batch"], tokens = plan["mu_n"];
  auto const pieces = [&](char const* size) {
    return (batch + plan[size].get<int>() - 1) / plan[size].get<int>();
  };
  two_phase const shape{pieces("prefill_micro_batch"), pieces("decode_micro_batch"), tokens - 1};
  std::vector<phase_times> const times = stage_times(plan, table);
  two_phase_estimate const e = two_phase_formula(shape, times);
  schedule const s = two_phase_schedule(shape, times);
  double const all = 1000.0 * batch * tokens;
  return {run, all / ms_of(e.prefill + e.decode),
          all / ms_of(time_program(lower(s), {.cost = s.cost}).makespan), logged};
}

std::vector<double> column(std::vector<compared> const& all, double compared::*number) {
  std::vector<double> values;
  for (compared const& each : all) values.push_back(each.*number);
  return values;
}

// Counts the runs of several plans whose fastest by measurement is also fastest by prediction.
void print_hits(std::vector<compared> const& all, double compared::*predicted, char const* by) {
  std::set<std::string> runs;
  for (compared const& c : all) runs.insert(c.run);
  int hits = 0, count = 0;
  for (std::string const& run : runs) {
    compared const *first = nullptr, *best = nullptr;
    int plans = 0;
    for (compared const& c : all) {
      if (c.run != run) continue;
      ++plans;
      if (first == nullptr || c.*predicted > first->*predicted) first = &c;
      if (best == nullptr || c.logged > best->logged) best = &c;
    }
    if (plans < 2) continue;
    ++count;
    hits += first == best;
  }
  std::printf(
      "by %s: rank correlation %.3f over %zu measured plans, the fastest of a run first in %d of %d\n",
      by, systems::rank_correlation(column(all, predicted), column(all, &compared::logged)), all.size(),
      hits, count);
}

}  // namespace

void compare_with_log(std::string const& folder, latency_table const& table, systems::report& r) {
  json const plans = systems::read_json(folder + "/plans.json");
  std::vector<compared> all;
  std::size_t without = 0, failed = 0;
  for (systems::csv_row const& row : systems::read_csv(folder + "/measured_throughput.csv")) {
    if (row.at("status") != "ok") {
      ++failed;
      continue;
    }
    auto const is_its_own = [&](json const& plan) {
      return plan["file"].get<std::string>().starts_with(row.at("run"))
             && plan["method"] == row.at("method");
    };
    auto const plan = std::find_if(plans.begin(), plans.end(), is_its_own);
    if (plan == plans.end()) {
      ++without;
      continue;
    }
    double const logged = std::stod(row.at("token_per_s"));
    // The log's own arithmetic: all tokens over the latency.
    r.near(
        row.at("run") + ", " + row.at("method") + ", tokens per second",
        (*plan)["global_batch"].get<int>() * (*plan)["mu_n"].get<int>() / std::stod(row.at("latency_s")),
        logged, 1e-4);
    all.push_back(predict(row.at("run"), *plan, table, logged));
  }
  std::printf("%zu runs failed, of %zu there is no plan\n", failed, without);
  print_hits(all, &compared::formula, "the formula");
  print_hits(all, &compared::simulated, "simulation");
}

}  // namespace llmpq
