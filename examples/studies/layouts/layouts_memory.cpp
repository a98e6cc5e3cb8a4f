// Predicts which layouts run out of memory.
#include "../formulas/layout.hpp"
#include "../rank.hpp"
#include "../report.hpp"
#include "layouts.hpp"
#include <ashlar/catalog/one_f_one_b.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/repeat.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace layouts {

using namespace ashlar;
using namespace formulas;
using systems::report;
using json = nlohmann::json;

// The peak of 1F1B, its micro-batches in flight counted in its schedule. In the steady part nothing more
// comes: twice the devices are enough.
double bytes_of(trial const& t) {
  int const p = t.layout.pipeline;
  schedule const s =
      repeat(catalog::one_f_one_b(devices{p}), micro_batches{std::min(t.micro_batches(), 2 * p)});
  std::vector<byte_count> const peaks = peak_memory(s, layout_memory(t.model, t.layout));
  return static_cast<double>(*std::max_element(peaks.begin(), peaks.end()));
}

namespace {

struct predicted_memory {
  double bytes = 0;
  bool is_out = false;  // in truth
};

double accuracy_of(std::vector<predicted_memory> const& all, double budget) {
  auto const right = std::count_if(all.begin(), all.end(), [&](predicted_memory const& each) {
    return (each.bytes > budget) == each.is_out;
  });
  return static_cast<double>(right) / static_cast<double>(all.size());
}

// The area under the curve of true over false alarms of all budgets: how often a trial that ran out is
// predicted to hold more than one that did not.
double area_of(std::vector<predicted_memory> const& all) {
  std::vector<double> bytes;
  for (predicted_memory const& each : all) bytes.push_back(each.bytes);
  std::vector<double> const ranks = systems::ranks_of(bytes);
  double sum = 0, out = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].is_out) {
      sum += ranks[i];
      ++out;
    }
  return (sum - out * (out + 1) / 2) / (out * (static_cast<double>(all.size()) - out));
}

}  // namespace

void check_memory(report& r, json const& gold, std::vector<trial> const& all) {
  json const& expected = gold.at("memory_model");
  double const budget = expected.at("budget_GiB").get<double>() * gib;
  std::vector<predicted_memory> counted, kept;
  for (trial const& t : all) {
    if (!t.counts()) continue;
    counted.push_back({bytes_of(t), t.is_out_of_memory()});
    if (t.layout.again == recomputation::none) kept.push_back(counted.back());
  }
  auto const wrong = [&](bool is_out) {
    return std::count_if(counted.begin(), counted.end(), [&](predicted_memory const& each) {
      return each.is_out == is_out && (each.bytes > budget) != is_out;
    });
  };
  auto const false_alarms = wrong(false), missed = wrong(true);
  double const accuracy = accuracy_of(counted, budget), accuracy_kept = accuracy_of(kept, budget);
  std::printf(
      "memory: accuracy %.4f, without checkpointing %.4f, %d false out-of-memory, %d missed of %zu\n",
      accuracy, accuracy_kept, static_cast<int>(false_alarms), static_cast<int>(missed), counted.size());
  r.holds("memory accuracy of at least 0.88", accuracy >= 0.88);
  r.holds("at most one false out-of-memory", false_alarms <= 1);
  r.same("trials that ran or ran out of memory", counted.size(), expected.at("n").get<std::size_t>());
  r.near("memory accuracy", accuracy, expected.at("accuracy"), 1e-9);
  r.near("memory accuracy without checkpointing", accuracy_kept, expected.at("accuracy_no_ckpt"), 1e-9);
  r.near("memory accuracy at 80 GiB", accuracy_of(counted, 80 * gib), expected.at("accuracy_80GiB"),
         1e-9);
  r.near("memory accuracy of always saying that it runs out", accuracy_of(counted, -1),
         expected.at("majority_baseline"), 1e-9);
  // Bytes that are equal are so by rounding.
  r.near("area under the curve of memory", area_of(counted), expected.at("auc"), 1e-4);
  double best = 0, at = 0;  // of budgets in whole GiB
  for (int budget_gib = 1; budget_gib <= 200; ++budget_gib)
    if (double const a = accuracy_of(counted, budget_gib * gib); a > best) {
      best = a;
      at = budget_gib;
    }
  r.near("best memory accuracy", best, expected.at("best_accuracy"), 1e-9);
  r.near("budget of the best memory accuracy", at, expected.at("best_threshold_GiB"), 1e-9);
  r.same("false out-of-memory", false_alarms, expected.at("false_oom").get<int>());
  r.same("missed out-of-memory", missed, expected.at("missed_oom").get<int>());
}

}  // namespace layouts
