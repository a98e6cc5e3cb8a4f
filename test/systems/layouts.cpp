// Layouts on A100s with 80 GB (Hagemann et al., 2023): utilisation, memory, the recommended layout, and
// step times predicted with constants from two sweeps; on trials from DATA_DIR/layout_sweep.csv. Their
// licence keeps both files outside: without arguments their paths are those of ASHLAR_LAYOUTS_GOLD and
// ASHLAR_LAYOUTS_DATA, if they are set.
#include "csv.hpp"
#include "rank.hpp"
#include "report.hpp"
#include <ashlar/catalog/one_f_one_b.hpp>
#include <ashlar/plan.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/repeat.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace {

using namespace ashlar;
using systems::report;
using json = nlohmann::json;

constexpr double gib = 1024.0 * 1024 * 1024;

struct trial {
  systems::csv_row row;
  transformer model;
  training_layout layout;
  int devices = 0;
  double batch = 0;

  bool has_run() const { return !row.at("step_s").empty(); }
  bool counts() const { return row.at("status") == "ok" || row.at("status") == "oom"; }
  bool is_out_of_memory() const { return row.at("status") == "oom"; }
  double seconds() const { return std::stod(row.at("step_s")); }
  int micro_batches() const {
    return std::max(1, static_cast<int>(batch / (layout.data * layout.micro_batch)));
  }
};

using sweep = std::tuple<std::string, std::string, int, int>;  // sweep, model, sequence, devices

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

// The most that 1F1B holds, its micro-batches in flight counted in its schedule. In the steady part
// nothing more comes: twice the devices are enough.
double bytes_of(trial const& t) {
  int const p = t.layout.pipeline;
  schedule const s =
      repeat(catalog::one_f_one_b(devices{p}), micro_batches{std::min(t.micro_batches(), 2 * p)});
  std::vector<byte_count> const peaks = peak_memory(s, layout_memory(t.model, t.layout));
  return static_cast<double>(*std::max_element(peaks.begin(), peaks.end()));
}

double round_to(double value, double unit) { return std::round(value / unit) * unit; }

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
  r.near("utilisation, largest error", errors.back(), gold.at("mfu_formula").at("max_rel_err"), 1e-6);
}

void check_memory(report& r, json const& gold, std::vector<trial> const& all) {
  json const& expected = gold.at("memory_model");
  double const budget = expected.at("budget_GiB").get<double>() * gib;
  int right = 0, count = 0, right_kept = 0, kept = 0, false_alarms = 0, missed = 0;
  for (trial const& t : all) {
    if (!t.counts()) continue;
    bool const says = bytes_of(t) > budget, is = t.is_out_of_memory();
    ++count;
    right += says == is;
    false_alarms += says && !is;
    missed += !says && is;
    if (t.layout.again != recomputation::none) continue;
    ++kept;
    right_kept += says == is;
  }
  double const accuracy = 1.0 * right / count, accuracy_kept = 1.0 * right_kept / kept;
  std::printf(
      "memory: accuracy %.4f, without checkpointing %.4f, %d false out-of-memory, %d missed of %d\n",
      accuracy, accuracy_kept, false_alarms, missed, count);
  r.holds("memory accuracy of at least 0.88", accuracy >= 0.88);
  r.holds("at most one false out-of-memory", false_alarms <= 1);
  r.near("memory accuracy", accuracy, expected.at("accuracy"), 1e-9);
  r.near("memory accuracy without checkpointing", accuracy_kept, expected.at("accuracy_no_ckpt"), 1e-9);
  r.same("false out-of-memory", false_alarms, expected.at("false_oom").get<int>());
  r.same("missed out-of-memory", missed, expected.at("missed_oom").get<int>());
}

struct attempt {
  trial const* found = nullptr;
  int attempts = 0;
};

// Tries layouts of one micro-batch, without checkpointing and with fused kernels, that fit by the model,
// in order; one that runs out of memory after all gives way to the next.
attempt recommend(std::vector<trial const*> sweep_trials, double budget) {
  bool const large = is_long_or_large(sweep_trials[0]->model);
  std::stable_sort(sweep_trials.begin(), sweep_trials.end(), [&](trial const* a, trial const* b) {
    return comes_before(a->layout, b->layout, large) != layout_reason::none;
  });
  attempt a;
  for (trial const* t : sweep_trials) {
    if (!t->counts() || bytes_of(*t) > budget) continue;
    ++a.attempts;
    if (t->is_out_of_memory()) continue;
    a.found = t;
    break;
  }
  return a;
}

// What a step takes, linear in the constants to be found: seconds of products, of attention, of moving
// what is not fused, of keeping scores, of exchange between tensor ranks, of launches, of messages.
std::vector<double> terms(trial const& t) {
  training_layout const& l = t.layout;
  transformer const& m = t.model;
  double const ranks = l.tensor, tokens = l.micro_batch * m.sequence;
  double const layers = std::ceil(1.0 * m.layers / l.pipeline),
               again = l.again == recomputation::none ? 1 : 4.0 / 3;
  double const turns = t.micro_batches() + l.pipeline - 1;
  double const per_layer = turns * layers * again;
  return {(per_layer * 6 * m.layer_parameters() + turns * 6 * m.embedding_parameters() / l.pipeline)
              * tokens / ranks / 312e12,
          per_layer * 12 * m.hidden * m.sequence * tokens / ranks / 312e12,
          per_layer * tokens
              * ((l.fused_norm ? 8 : 24) * m.hidden / (l.sequence_parallel ? ranks : 1)
                 + 8 * (m.hidden + m.feed_forward) / ranks)
              / 1.5e12,
          per_layer * (l.flash_attention ? 0 : m.heads * m.sequence * tokens / ranks) / 1.5e11,
          per_layer * 16 * (ranks - 1) / ranks * m.hidden * tokens / 300e9,
          per_layer * 1e-3,
          l.pipeline > 1 ? 4 * tokens * m.hidden * l.pipeline / 25e9 : 0};
}

void predict_others(std::map<sweep, std::vector<trial const*>> const& sweeps) {
  std::vector<sweep> const known{{"main", "13B", 2048, 64}, {"main", "65B", 2048, 128}};
  std::vector<std::vector<double>> rows;
  std::vector<double> measured;
  for (sweep const& k : known) {
    auto const found = sweeps.find(k);
    if (found == sweeps.end()) return;
    for (trial const* t : found->second)
      if (t->has_run()) {
        rows.push_back(terms(*t));
        measured.push_back(t->seconds());
      }
  }
  std::vector<double> const weights = fit_nonnegative(rows, measured);
  std::printf("step times, constants from %zu runs of two sweeps:\n", measured.size());
  for (auto const& [key, trials] : sweeps) {
    std::vector<double> predicted, seconds;
    double error = 0;
    for (trial const* t : trials)
      if (t->has_run()) {
        predicted.push_back(weighted_sum(weights, terms(*t)));
        seconds.push_back(t->seconds());
        error += std::abs(predicted.back() / seconds.back() - 1);
      }
    auto const first = std::min_element(predicted.begin(), predicted.end()) - predicted.begin();
    std::printf(
        "  %s %s %d on %d%s: rank correlation %.3f, mean error %.1f %%, regret of the fastest predicted "
        "%.1f %%\n",
        std::get<0>(key).c_str(), std::get<1>(key).c_str(), std::get<2>(key), std::get<3>(key),
        std::count(known.begin(), known.end(), key) > 0 ? " (fitted)" : "",
        systems::rank_correlation(predicted, seconds), 100 * error / static_cast<double>(seconds.size()),
        100
            * (seconds[static_cast<std::size_t>(first)]
                   / *std::min_element(seconds.begin(), seconds.end())
               - 1));
  }
}

void check_sweeps(report& r, json const& gold,
                  std::map<sweep, std::vector<trial const*>> const& sweeps) {
  double const budget = gold.at("memory_model").at("budget_GiB").get<double>() * gib;
  int best_chosen = 0;
  double regrets = 0, largest = 0;
  for (auto const& [key, trials] : sweeps) {
    trial const* fastest = nullptr;
    for (trial const* t : trials)
      if (t->has_run() && (fastest == nullptr || t->seconds() < fastest->seconds())) fastest = t;
    attempt const a = recommend(trials, budget);
    std::string const name = std::get<0>(key) + " " + std::get<1>(key) + " "
                             + std::to_string(std::get<2>(key)) + " on "
                             + std::to_string(std::get<3>(key));
    if (a.found == nullptr) {
      r.holds(name + ": a layout is found", false);
      continue;
    }
    training_layout const& l = a.found->layout;
    double const regret = 1 - fastest->seconds() / a.found->seconds();
    std::printf("%s: tensor %d, pipeline %d after %d attempts, regret %.1f %%\n", name.c_str(), l.tensor,
                l.pipeline, a.attempts, 100 * regret);
    best_chosen += a.found == fastest;
    regrets += regret;
    largest = std::max(largest, regret);
    for (json const& e : gold.at("sweeps"))
      if (sweep{e.at("sweep"), e.at("model"), e.at("seq"), e.at("gpus")} == key) {
        r.same(name + ", fastest: tensor", fastest->layout.tensor, e.at("best").at("tp").get<int>());
        r.same(name + ", fastest: pipeline", fastest->layout.pipeline, e.at("best").at("pp").get<int>());
        r.near(name + ", fastest: seconds", fastest->seconds(), e.at("best").at("step_s"), 1e-9);
        r.same(name + ", tensor", l.tensor, e.at("planner").at("tp").get<int>());
        r.same(name + ", pipeline", l.pipeline, e.at("planner").at("pp").get<int>());
        r.same(name + ", attempts", a.attempts, e.at("planner").at("attempts_until_fits").get<int>());
        r.near(name + ", regret", round_to(regret, 1e-4), e.at("planner").at("regret"), 0, 1.01e-4);
      }
  }
  auto const count = static_cast<double>(sweeps.size());
  std::printf("recommended: the fastest in %d of %zu sweeps, mean regret %.1f %%, largest %.1f %%\n",
              best_chosen, sweeps.size(), 100 * regrets / count, 100 * largest);
  r.holds("the fastest layout is recommended in eight of ten sweeps", best_chosen >= 0.8 * count);
  r.holds("mean regret at most 5 %", regrets / count <= 0.05);
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
        std::map<sweep, std::vector<trial const*>> sweeps;
        for (trial const& t : all)
          sweeps[{t.row.at("sweep"), t.row.at("model"), std::stoi(t.row.at("seq")), t.devices}]
              .push_back(&t);
        r.same("trials", all.size(), gold.at("rows").get<std::size_t>());
        check_models(r, gold, all);
        check_utilisation(r, gold, all);
        check_memory(r, gold, all);
        check_sweeps(r, gold, sweeps);
        predict_others(sweeps);
      });
}
