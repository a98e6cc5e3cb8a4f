#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/choose/dealing_bound.hpp>
#include <ashlar/cost/step/once_a_step.hpp>

#include <cmath>
#include <cstddef>

namespace ashlar::cost::dealing_detail {

double least_seconds(question const& q, std::vector<question const*> const& asked,
                     std::vector<std::unique_ptr<segments>> const& kinds, double lost,
                     constants const& c) {
  auto const at = [](int i) { return static_cast<std::size_t>(i); };
  segments const& first = *kinds.front();
  std::vector<double> least = first.least();
  for (auto const& kind : kinds)
    for (std::size_t i = 0; i < least.size(); ++i) least[i] = min_of(least[i], kind->least()[i]);
  double all = 0, shortest_layer = nothing;
  for (double each : least) all += each;
  int const layers = q.model.layer_count(), p = q.layout.pipeline;
  bool const tables = q.model.has_tables();
  double const head = tables ? least.back() : 0;
  for (int i = 0; i < layers; ++i)
    shortest_layer = min_of(shortest_layer, least[at(i + (tables ? 1 : 0))]);
  double busiest = all / p;
  auto const can_hold = [&](double seconds) {
    double const slack = seconds * (1 + 1e-12);
    return std::floor(slack / shortest_layer) * (p - 1) + std::floor((slack - head) / shortest_layer)
           >= layers;
  };
  if (shortest_layer > 0 && !can_hold(busiest)) {
    double other = nothing;
    for (int k = 0; k <= layers; ++k)
      for (double const each : {k * shortest_layer, k * shortest_layer + head})
        if (each >= busiest && each < other && can_hold(each)) other = each;
    if (other < nothing) busiest = other;
  }
  // On average over devices, each also pays the once-a-step costs that nothing can hide.
  held_parameters held;
  for (int i = 0; i < first.parts(); ++i) {
    stage const& has = first.find(i, i + 1)->has;
    // Losses on one stage have one head, and predictions that repeat one layer.
    bool const is_copy = (has.has_head && i + 1 < first.parts())
                         || (q.model.repeats && has.predictions > 0 && has.streams > 1);
    if (!is_copy) held.trained.add(first.find(i, i + 1)->needs.held.trained);
  }
  device_seconds const long_passes{.forward = 1e12, .backward = 1e12};
  once_a_step once{nothing, nothing};
  for (question const* each : asked) {
    once_a_step const there = once_on(*each, held.trained, long_passes, 1, c);
    once = {min_of(once.data, there.data), min_of(once.optimizer, there.optimizer)};
  }
  double const n = q.micro_batches();
  // Each of the d stages but the first has a part between the embedding and the last.
  double shortest = nothing;
  for (std::size_t i = tables ? 1 : 0; i + 1 < least.size(); ++i) shortest = min_of(shortest, least[i]);
  double const waits = max_of(0.0, shortest) * (p - 1.0) * (p - 2.0) / 2;
  double const mean = (n * all + waits) / p * lost + (once.data + once.optimizer) / p;
  return max_of(n * busiest * lost, mean);
}

}  // namespace ashlar::cost::dealing_detail
