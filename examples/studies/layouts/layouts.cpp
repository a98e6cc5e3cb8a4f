// Layouts on A100s with 80 GB (Hagemann et al., 2023): utilisation, memory, the recommended layout, and
// step times predicted with constants from two sweeps; on trials from DATA_DIR/layout_sweep.csv. Their
// licence keeps both files outside: without arguments their paths are those of ASHLAR_LAYOUTS_GOLD and
// ASHLAR_LAYOUTS_DATA, if they are set.
#include "layouts.hpp"

#include "../csv.hpp"
#include "../formulas/layout.hpp"
#include "../report.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace {

using namespace ashlar;
using namespace formulas;
using namespace layouts;
using systems::report;
using json = nlohmann::json;

trial read_trial(systems::csv_row const& row, json const& gold) {
  json const& m = gold.at("models").at(row.at("model"));
  double const sequence = std::stod(row.at("seq"));
  bool const flash = row.at("kernel").starts_with("flash");
  trial t{
      .row = row,
      .model = {.layers = m.at("layers"),
                .hidden = m.at("hidden"),
                .feed_forward = m.at("ffn"),
                .heads = m.at("heads"),
                .vocabulary = m.at("vocab"),
                .sequence = sequence,
                .gated = true},
      .layout = {.micro_batch = std::stoi(row.at("micro_batch")),
                 .tensor = std::stoi(row.at("tp")),
                 .pipeline = std::stoi(row.at("pp")),
                 .again = row.at("act_ckpt") == "disabled" ? recomputation::none : recomputation::full,
                 .sequence_parallel = row.at("seq_parallel") == "True",
                 .flash_attention = flash,
                 .fused_norm = row.at("kernel").find("RMS") != std::string::npos},
      .devices = std::stoi(row.at("gpus")),
      .batch = gold.at("global_batch_sequences").at(row.at("seq"))};
  t.layout.data = t.devices / t.layout.devices_of_model();
  return t;
}

double round_to(double value, double unit) { return std::round(value / unit) * unit; }

// The status "other" is neither of the two that count.
int count_of(std::vector<trial> const& all, std::string const& status) {
  return static_cast<int>(std::count_if(all.begin(), all.end(), [&](trial const& t) {
    return t.counts() ? t.row.at("status") == status : status == "other";
  }));
}

void check_models(report& r, json const& gold, std::vector<trial> const& all) {
  for (auto const& [name, m] : gold.at("models").items())
    for (trial const& t : all)
      if (t.row.at("model") == name) {
        r.same(name + " parameters", t.model.parameters(), m.at("params").get<double>());
        break;
      }
  for (trial const& t : all) {
    std::string const key = t.row.at("model") + "_" + t.row.at("seq");
    if (gold.at("flops_per_step").contains(key))
      r.near(key + " operations", model_flops(t.model, t.batch), gold.at("flops_per_step").at(key),
             1e-12);
  }
}

// The percentile of sorted values, on the line between the two nearest.
double percentile(std::vector<double> const& sorted, double share) {
  double const place = share * static_cast<double>(sorted.size() - 1);
  auto const below = static_cast<std::size_t>(place);
  double const above = sorted[std::min(below + 1, sorted.size() - 1)];
  return sorted[below] + (place - std::floor(place)) * (above - sorted[below]);
}

void check_utilisation(report& r, json const& gold, std::vector<trial> const& all) {
  std::vector<double> errors;
  for (trial const& t : all)
    if (t.has_run() && !t.row.at("mfu").empty())
      errors.push_back(std::abs(model_utilisation(model_flops(t.model, t.batch), t.seconds(), t.devices,
                                                  gold.at("peak_tflops").get<double>() * 1e12)
                                    / std::stod(t.row.at("mfu"))
                                - 1));
  std::sort(errors.begin(), errors.end());
  double const median = errors[errors.size() / 2];
  std::printf("utilisation: %zu runs, median relative error %.2g, largest %.2g\n", errors.size(), median,
              errors.back());
  r.holds("utilisation, median error of at most 0.0003", median <= 3e-4);
  r.near("utilisation, median error", median, gold.at("mfu_formula").at("median_rel_err"), 1e-6);
  r.near("utilisation, 99th percentile of the errors", percentile(errors, 0.99),
         gold.at("mfu_formula").at("p99"), 1e-6);
  r.near("utilisation, largest error", errors.back(), gold.at("mfu_formula").at("max_rel_err"), 1e-6);
}

// Layouts of a sweep that fit by the model, in the order in which the rules try them.
std::vector<trial const*> in_order(std::vector<trial const*> sweep_trials, double budget) {
  bool const large = is_long_or_large(sweep_trials[0]->model);
  std::stable_sort(sweep_trials.begin(), sweep_trials.end(), [&](trial const* a, trial const* b) {
    return comes_before(a->layout, b->layout, large) != layout_reason::none;
  });
  std::erase_if(sweep_trials, [&](trial const* t) { return !t->counts() || bytes_of(*t) > budget; });
  return sweep_trials;
}

// Checks the file's figures of a sweep beside its recommendation.
void check_facts(report& r, std::string const& name, json const& about,
                 std::vector<trial const*> const& trials, trial const& fastest) {
  int ran = 0, out = 0;
  std::map<std::string, double> best;  // utilisation by micro-batch
  for (trial const* t : trials) {
    ran += t->row.at("status") == "ok";
    out += t->is_out_of_memory();
    if (!t->has_run() || t->row.at("mfu").empty()) continue;
    double& most = best[t->row.at("micro_batch")];
    most = std::max(most, std::stod(t->row.at("mfu")));
  }
  r.same(name + ", trials", trials.size(), about.at("trials").get<std::size_t>());
  r.same(name + ", trials that ran", ran, about.at("ok").get<int>());
  r.same(name + ", trials out of memory", out, about.at("oom").get<int>());
  json const& expected = about.at("best_mfu_by_micro_batch");
  r.same(name + ", sizes of micro-batches that ran", best.size(), expected.size());
  for (auto const& [size, most] : best)
    if (expected.contains(size))
      r.near(name + ", best utilisation at micro-batch " + size, most, expected.at(size), 1e-9);
  json const& b = about.at("best");
  r.same(name + ", fastest: tensor", fastest.layout.tensor, b.at("tp").get<int>());
  r.same(name + ", fastest: pipeline", fastest.layout.pipeline, b.at("pp").get<int>());
  r.same(name + ", fastest: micro-batch", fastest.layout.micro_batch, b.at("micro_batch").get<int>());
  r.same(name + ", fastest: checkpointing", fastest.row.at("act_ckpt"), b.at("ckpt").get<std::string>());
  r.same(name + ", fastest: kernel", fastest.row.at("kernel"), b.at("kernel").get<std::string>());
  r.same(name + ", fastest: sequence parallel", fastest.layout.sequence_parallel,
         b.at("sp").get<bool>());
  r.near(name + ", fastest: seconds", fastest.seconds(), b.at("step_s"), 1e-9);
  r.near(name + ", fastest: utilisation", std::stod(fastest.row.at("mfu")), b.at("mfu"), 1e-9);
}

void check_sweeps(report& r, json const& gold, trials_by_sweep const& sweeps) {
  double const budget = gold.at("memory_model").at("budget_GiB").get<double>() * gib;
  int best_chosen = 0;
  double regrets = 0, largest = 0;
  trials_by_sweep recommended;
  for (auto const& [key, trials] : sweeps) {
    std::string const name = name_of(key);
    std::vector<trial const*> const tried = in_order(trials, budget);
    // A layout that runs out of memory after all gives way to the next.
    auto const found =
        std::find_if(tried.begin(), tried.end(), [](trial const* t) { return t->has_run(); });
    if (found == tried.end()) {
      r.holds(name + ": a layout is found", false);
      continue;
    }
    std::copy_if(found, tried.end(), std::back_inserter(recommended[key]),
                 [](trial const* t) { return t->has_run(); });
    trial const &first = **found, &fastest = *fastest_of(trials);
    int const attempts = static_cast<int>(found - tried.begin()) + 1;
    double const regret = 1 - fastest.seconds() / first.seconds();
    std::printf("%s: tensor %d, pipeline %d after %d attempts, regret %.1f %%\n", name.c_str(),
                first.layout.tensor, first.layout.pipeline, attempts, 100 * regret);
    best_chosen += &first == &fastest;
    regrets += regret;
    largest = std::max(largest, regret);
    for (json const& e : gold.at("sweeps"))
      if (sweep{e.at("sweep"), e.at("model"), e.at("seq"), e.at("gpus")} == key) {
        check_facts(r, name, e, trials, fastest);
        json const& planner = e.at("planner");
        r.same(name + ", tensor", first.layout.tensor, planner.at("tp").get<int>());
        r.same(name + ", pipeline", first.layout.pipeline, planner.at("pp").get<int>());
        r.near(name + ", utilisation", std::stod(first.row.at("mfu")), planner.at("mfu"), 1e-9);
        r.same(name + ", attempts", attempts, planner.at("attempts_until_fits").get<int>());
        r.near(name + ", regret", round_to(regret, 1e-4), planner.at("regret"), 0, 1.01e-4);
      }
  }
  auto const count = static_cast<double>(sweeps.size());
  std::printf("recommended: the fastest in %d of %zu sweeps, mean regret %.1f %%, largest %.1f %%\n",
              best_chosen, sweeps.size(), 100 * regrets / count, 100 * largest);
  r.holds("the fastest layout is recommended in eight of ten sweeps", best_chosen >= 0.8 * count);
  r.holds("mean regret at most 5 %", regrets / count <= 0.05);
  rank_first_few(sweeps, recommended);
}

}  // namespace

int main(int argc, char** argv) {
  char const* const gold_path = std::getenv("ASHLAR_LAYOUTS_GOLD");
  char const* const data_path = std::getenv("ASHLAR_LAYOUTS_DATA");
  if (argc == 1 && (gold_path == nullptr || data_path == nullptr)) {
    std::cout
        << "skipped: ASHLAR_LAYOUTS_GOLD and ASHLAR_LAYOUTS_DATA do not say where the trials are\n";
    return 77;
  }
  std::string gold_text(argc == 1 ? gold_path : ""), data_text(argc == 1 ? data_path : "");
  char* from_environment[] = {argv[0], gold_text.data(), data_text.data()};
  return systems::run(
      argc == 1 ? 3 : argc, argc == 1 ? from_environment : argv,
      [](json const& gold, std::string const& data, report& r) {
        std::vector<trial> all;
        for (systems::csv_row const& row : systems::read_csv(data + "/layout_sweep.csv"))
          all.push_back(read_trial(row, gold));
        trials_by_sweep sweeps;
        for (trial const& t : all)
          sweeps[{t.row.at("sweep"), t.row.at("model"), std::stoi(t.row.at("seq")), t.devices}]
              .push_back(&t);
        r.same("trials", all.size(), gold.at("rows").get<std::size_t>());
        for (auto const& [status, count] : gold.at("status").items())
          r.same("trials that are " + status, count_of(all, status), count.get<int>());
        check_models(r, gold, all);
        check_utilisation(r, gold, all);
        check_memory(r, gold, all);
        check_sweeps(r, gold, sweeps);
        predict_others(sweeps);
      });
}
