// AMP (Li et al., 2022): its predictions with what its code does otherwise, the exact partition, and a
// ranking by simulation, on layer times and runs from DATA_DIR/layer_forward_s.csv and
// DATA_DIR/SETTING_trials.csv.
#include "amp.hpp"

#include "../csv.hpp"
#include "../rank.hpp"
#include "../report.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace amp;
using systems::report;

// A single micro-batch is not worth AMP's search: it divides the layers evenly.
std::vector<int> published_sizes(setting const& s, cut_costs const& costs, amp_plan const& plan) {
  int const n = static_cast<int>(costs.layer.size()), p = plan.grid.pipeline;
  if (plan.micro_batches == 1) return uniform_partition(n, p, s.before(), s.behind());
  return amp_partition(costs, p).sizes();
}

double longest_stage(cut_costs costs, std::vector<int> const& sizes) {
  costs.repeats = 1;
  double const once = pipeline_time(costs, sizes);
  costs.repeats = 0;
  return once - pipeline_time(costs, sizes);
}

void check_row(report& r, std::string const& what, setting const& s, json const& row) {
  amp_plan plan = s.plan_of(row.at("micro_batch"), {row.at("tp"), row.at("dp"), row.at("pp")});
  r.same(what + " micro-batches", plan.micro_batches, row.at("num_micro_batches").get<int>());
  std::vector<amp_layer> const layers = s.layers(plan.grid.tensor);
  cut_costs const costs = amp_cut_costs(s.cluster(), layers, plan);
  plan.sizes = published_sizes(s, costs, plan);
  r.same(what + " stages of AMP", json(plan.sizes), row.at("amp_stage_sizes"));
  double const predicted = amp_step_time(s.cluster(), layers, plan, amp_bugs::published);
  r.near(what + " predicted", predicted, row.at("amp_predicted_s"), 0, 5e-5);
  r.near(what + " derived again", predicted, row.at("rederived_s"), 0, 1e-6);
  r.near(what + " reduction", amp_reduction_time(s.cluster(), layers, plan, amp_bugs::published),
         row.at("dp_allreduce_s"), 0, 1e-6);
  double const theirs = pipeline_time(costs, plan.sizes);
  double const best = pipeline_time(costs, best_partition(costs, plan.grid.pipeline));
  r.same(what + " cuts of AMP", json(s.sizes_of_cuts(row.at("amp_cuts"))), json(plan.sizes));
  r.near(what + " longest stage", longest_stage(costs, plan.sizes), row.at("max_stage_s"), 0, 1e-6);
  r.near(what + " pipeline of AMP", theirs, row.at("amp_pipe_s"), 0, 1e-6);
  r.near(what + " best pipeline", best, row.at("exact_pipe_s"), 0, 1e-6);
  // Several partitions may be equally good.
  r.near(what + " pipeline of the best stages",
         pipeline_time(costs, row.at("exact_stage_sizes").get<std::vector<int>>()),
         row.at("exact_pipe_s"), 0, 1e-6);
  r.holds(what + " is never worse than AMP's", best <= theirs * (1 + 1e-12));
}

// Counts over all settings.
struct tally {
  int settings = 0, near_best = 0, failed = 0, flagged = 0, false_alarms = 0;
};

// A plan that AMP's log has.
struct run {
  std::string what;  // of its row
  int rank = 0;      // by AMP
  double theirs = 0, ours = 0;
  double measured = 0;  // 0: not run
  bool failed = false;
  bool flagged = false;  // too large for a device

  bool was_measured() const { return measured > 0 && !failed; }
};

std::vector<run> read_runs(report& r, std::string const& name, setting const& s,
                           std::string const& path) {
  std::vector<run> all;
  for (systems::csv_row const& row : systems::read_csv(path)) {
    std::vector<int> cuts;
    std::istringstream text(row.at("stage_cuts"));
    for (int cut = 0; text >> cut;) cuts.push_back(cut);
    amp_plan const plan =
        s.plan_of(std::stoi(row.at("micro_batch")),
                  {std::stoi(row.at("tp")), std::stoi(row.at("dp")), std::stoi(row.at("pp"))},
                  s.sizes_of_cuts(cuts));
    std::string const what = name + " run " + row.at("rank");
    std::vector<amp_layer> const layers = s.layers(plan.grid.tensor);
    cut_costs const costs = amp_cut_costs(s.cluster(), layers, plan);
    r.same(what + " stages", json(published_sizes(s, costs, plan)), json(plan.sizes));
    r.near(what + " predicted", amp_step_time(s.cluster(), layers, plan, amp_bugs::published),
           std::stod(row.at("predicted_s")), 0, 5e-5);
    r.holds(what + " best partition", pipeline_time(costs, best_partition(costs, plan.grid.pipeline))
                                          <= pipeline_time(costs, plan.sizes) * (1 + 1e-12));
    run made{.what = what,
             .rank = std::stoi(row.at("rank")),
             .theirs = std::stod(row.at("predicted_s")),
             .ours = s.simulated(plan),
             .failed = row.at("measured_s") == "inf",
             .flagged = s.bytes(plan) > device_bytes};
    if (!made.failed && !row.at("measured_s").empty()) made.measured = std::stod(row.at("measured_s"));
    all.push_back(made);
  }
  return all;
}

// Compares the runs with the file.
void check_log(report& r, std::string const& name, json const& about, std::vector<run> const& all) {
  for (run const& each : all)
    for (json const& row : about.at("rows"))
      if (row.at("rank") == each.rank) {
        r.same(each.what + " ran out of memory", each.failed, row.at("oom").get<bool>());
        if (each.was_measured())
          r.near(each.what + " measured", each.measured, row.at("measured_s"), 1e-9);
        else
          r.holds(each.what + " has no time", row.at("measured_s").is_null());
      }
  std::vector<double> theirs, measured;
  run const* best = nullptr;
  double best_of_ten = HUGE_VAL;
  for (run const& each : all) {
    if (!each.was_measured()) continue;
    theirs.push_back(each.theirs);
    measured.push_back(each.measured);
    if (best == nullptr || each.measured < best->measured) best = &each;
    auto const before =
        std::count_if(all.begin(), all.end(), [&](run const& other) { return other.rank < each.rank; });
    if (before < 10) best_of_ten = std::min(best_of_ten, each.measured);
  }
  r.near(name + ": rank correlation of AMP", systems::rank_correlation(theirs, measured),
         about.at("spearman_pred_vs_measured"), 0, 1e-4);
  r.near(name + ": best measured", best->measured, about.at("best_measured"), 1e-9);
  r.same(name + ": AMP's rank of the best measured", best->rank,
         about.at("best_measured_pred_rank").get<int>());
  r.near(name + ": best measured of AMP's first ten", best_of_ten, about.at("best_in_top10"), 1e-9);
}

// The plan that simulation puts first among those that fit by the memory model, run or not.
run const& first_choice(std::vector<run> const& all) {
  run const* first = nullptr;
  for (run const& each : all)
    if (!each.flagged && (first == nullptr || each.ours < first->ours)) first = &each;
  if (first == nullptr) throw std::runtime_error("no plan fits");
  return *first;
}

void rank_runs(report& r, std::string const& name, std::vector<run> const& all, tally& sum) {
  std::vector<double> measured, theirs, ours;
  run const* best = nullptr;
  for (run const& each : all) {
    sum.failed += each.failed;
    sum.flagged += each.failed && each.flagged;
    if (!each.was_measured()) continue;
    sum.false_alarms += each.flagged;
    measured.push_back(each.measured);
    theirs.push_back(each.theirs);
    ours.push_back(each.ours);
    if (best == nullptr || each.measured < best->measured) best = &each;
  }
  auto const place =
      std::count_if(all.begin(), all.end(), [&](run const& each) { return each.ours < best->ours; });
  run const& first = first_choice(all);
  double const regret = first.was_measured() ? first.measured / best->measured - 1 : HUGE_VAL;
  double const published = systems::rank_correlation(theirs, measured),
               own = systems::rank_correlation(ours, measured);
  std::printf(
      "%s: %zu measured runs, rank correlation %.3f (AMP %.3f), best measured in place %d of %zu; the "
      "first choice, %s, ",
      name.c_str(), measured.size(), own, published, static_cast<int>(place) + 1, all.size(),
      first.what.c_str());
  if (first.was_measured())
    std::printf("has a regret of %.1f %%\n", regret * 100);
  else
    std::printf("%s\n", first.failed ? "failed" : "was not run");
  r.holds(name + ": simulation ranks better than AMP", own > published && own >= 0.7);
  r.holds(name + ": the best measured plan is among the first ten", place < 10);
  ++sum.settings;
  sum.near_best += regret <= 0.05;
}

}  // namespace

int main(int argc, char** argv) {
  return systems::run(argc, argv, [](json const& gold, std::string const& data, report& r) {
    if (data.empty()) throw std::runtime_error("the layer times are in DATA_DIR, the second argument");
    auto const begin = std::chrono::steady_clock::now();
    layer_times const times = read_times(data + "/layer_forward_s.csv");
    tally sum;
    for (auto const& [name, about] : gold.at("settings").items()) {
      setting const s(name, about, times);
      for (json const& row : about.at("rows"))
        check_row(r, name + " plan " + row.at("rank").dump(), s, row);
      std::vector<run> const runs = read_runs(r, name, s, data + "/" + name + "_trials.csv");
      check_log(r, name, about, runs);
      rank_runs(r, name, runs, sum);
    }
    std::printf("all of it took %.2f s\n",
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    std::printf("out of memory: %d of %d failed runs flagged, %d false alarms\n", sum.flagged,
                sum.failed, sum.false_alarms);
    r.holds("the first choice is within 5 % of the best in most settings",
            3 * sum.near_best >= 2 * sum.settings);
    r.holds("half of the failed runs are flagged", 2 * sum.flagged >= sum.failed);
    r.holds("at most three false alarms", sum.false_alarms <= 3);
  });
}
