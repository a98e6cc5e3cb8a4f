// Step times of layouts that are linear in constants fitted to other trials.
#include "../least_squares.hpp"
#include "../rank.hpp"
#include "layouts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

namespace layouts {

using namespace ashlar;
using namespace formulas;

std::string name_of(sweep const& key) {
  return std::get<0>(key) + " " + std::get<1>(key) + " " + std::to_string(std::get<2>(key)) + " on "
         + std::to_string(std::get<3>(key));
}

trial const* fastest_of(std::vector<trial const*> const& trials) {
  trial const* fastest = nullptr;
  for (trial const* t : trials)
    if (t->has_run() && (fastest == nullptr || t->seconds() < fastest->seconds())) fastest = t;
  return fastest;
}

namespace {

// The terms of a step, linear in the constants to be found: seconds of products, of attention, of moving
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

std::vector<double> constants_of(std::vector<trial const*> const& trials) {
  std::vector<std::vector<double>> rows;
  std::vector<double> measured;
  for (trial const* t : trials)
    if (t->has_run()) {
      rows.push_back(terms(*t));
      measured.push_back(t->seconds());
    }
  return fit_nonnegative(rows, measured);
}

}  // namespace

void predict_others(trials_by_sweep const& sweeps) {
  std::vector<sweep> const known{{"main", "13B", 2048, 64}, {"main", "65B", 2048, 128}};
  std::vector<trial const*> fitted;
  for (sweep const& k : known) {
    auto const found = sweeps.find(k);
    if (found == sweeps.end()) return;
    fitted.insert(fitted.end(), found->second.begin(), found->second.end());
  }
  std::vector<double> const weights = constants_of(fitted);
  std::printf("step times, constants from two sweeps:\n");
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
        "  %s%s: rank correlation %.3f, mean error %.1f %%, regret of the fastest predicted %.1f %%\n",
        name_of(key).c_str(), std::count(known.begin(), known.end(), key) > 0 ? " (fitted)" : "",
        systems::rank_correlation(predicted, seconds), 100 * error / static_cast<double>(seconds.size()),
        100 * (seconds[static_cast<std::size_t>(first)] / fastest_of(trials)->seconds() - 1));
  }
}

void rank_first_few(trials_by_sweep const& sweeps, trials_by_sweep const& recommended) {
  constexpr std::size_t few = 4;
  int hits = 0;
  double regrets = 0, largest = 0;
  std::printf("the first %zu by times with constants from the other sweeps:\n", few);
  for (auto const& [key, in_order] : recommended) {
    std::vector<trial const*> others;
    for (auto const& [other, trials] : sweeps)
      if (other != key) others.insert(others.end(), trials.begin(), trials.end());
    std::vector<double> const weights = constants_of(others);
    std::vector<double> predicted;
    for (std::size_t i = 0; i < std::min(few, in_order.size()); ++i)
      predicted.push_back(weighted_sum(weights, terms(*in_order[i])));
    auto const least = std::min_element(predicted.begin(), predicted.end()) - predicted.begin();
    trial const *chosen = in_order[static_cast<std::size_t>(least)],
                *fastest = fastest_of(sweeps.at(key));
    double const regret = 1 - fastest->seconds() / chosen->seconds();
    std::printf("  %s: tensor %d, pipeline %d, predicted %.1f s, measured %.1f s, regret %.1f %%\n",
                name_of(key).c_str(), chosen->layout.tensor, chosen->layout.pipeline,
                predicted[static_cast<std::size_t>(least)], chosen->seconds(), 100 * regret);
    hits += chosen == fastest;
    regrets += regret;
    largest = std::max(largest, regret);
  }
  std::printf("  the fastest in %d, mean regret %.1f %%, largest %.1f %%\n", hits,
              100 * regrets / static_cast<double>(recommended.size()), 100 * largest);
}

}  // namespace layouts
