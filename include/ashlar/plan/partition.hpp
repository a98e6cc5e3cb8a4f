// A chain of layers cut into stages, so that the step of a pipeline is shortest.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// What cutting a chain costs, in any unit of time.
struct cut_costs {
  std::vector<double> layer;   // of each layer and micro-batch
  std::vector<double> volume;  // of what each layer hands to the next
  std::vector<double> link;    // by cut, first to last: time of a unit of volume
  double repeats = 0;  // how often the longest stage counts beside the sum of all: micro-batches - 1
};

// repeats * longest stage + the cuts + all layers, for stages of so many layers each: the fill of the
// pipeline, then one micro-batch after another at the pace of the slowest stage. Linear.
constexpr double pipeline_time(cut_costs const& c, std::vector<int> const& sizes) {
  double longest = 0, sum = 0;
  std::size_t at = 0;
  for (std::size_t stage = 0; stage < sizes.size(); ++stage) {
    double own = 0;
    for (int i = 0; i < sizes[stage]; ++i) own += c.layer[at++];
    longest = max_of(longest, own);
    sum += own;
    if (stage + 1 < sizes.size()) sum += c.volume[at - 1] * c.link[stage];
  }
  return c.repeats * longest + sum;
}

// Layers dealt out alike, the first stages one more where it does not come out even. `before` layers
// stay with the first stage and `behind` with the last, beside their share.
constexpr std::vector<int> uniform_partition(int layer_count, int stage_count, int before = 0,
                                             int behind = 0) {
  int const shared = layer_count - before - behind;
  if (stage_count < 1 || shared < stage_count)
    refuse({.broken = rule::parameter_is_at_least,
            .number = stage_count,
            .which = parameter::layer_count,
            .given = shared});
  std::vector<int> sizes;
  for (int stage = 0; stage < stage_count; ++stage)
    sizes.push_back(shared / stage_count + (stage < shared % stage_count ? 1 : 0));
  sizes.front() += before;
  sizes.back() += behind;
  return sizes;
}

namespace plan_detail {

// One way to cut the first layers into so many stages, as the last of them sees it.
struct cut_choice {
  double longest = 0, cuts = 0;
  int previous_end = 0;  // layers of the stages before the last
  int previous = -1;     // their choice there
};

// Adds a choice to those that none beats in both; they descend in `cuts` as `longest` ascends.
constexpr void add(std::vector<cut_choice>& front, cut_choice const& made) {
  for (cut_choice const& c : front)
    if (c.longest <= made.longest && c.cuts <= made.cuts) return;
  std::size_t kept = 0;
  for (cut_choice const& c : front)
    if (c.longest < made.longest || c.cuts < made.cuts) front[kept++] = c;
  while (front.size() > kept) front.pop_back();
  front.push_back(made);
}

}  // namespace plan_detail

// The sizes of the stages with the least pipeline_time; of several, any. A dynamic programme over
// (stages, layers) that keeps, for each, the choices that none beats in both the longest stage and the
// sum of the cuts: what follows can only add to the one and raise the other, so the best is among them.
// O(p n^2) times the size of these fronts, which is a few where layers are alike. Throws
// violation{rule::parameter_is_at_least} unless there is a layer for each stage.
constexpr std::vector<int> best_partition(cut_costs const& c, int stage_count) {
  using plan_detail::cut_choice;
  int const n = static_cast<int>(c.layer.size());
  if (stage_count < 1 || n < stage_count)
    refuse({.broken = rule::parameter_is_at_least,
            .number = stage_count,
            .which = parameter::layer_count,
            .given = n});
  std::vector<double> until(1, 0.0);
  for (double each : c.layer) until.push_back(until.back() + each);
  auto const index = [n](int stage, int end) { return static_cast<std::size_t>(stage * (n + 1) + end); };
  std::vector<std::vector<cut_choice>> fronts(index(stage_count, 0));
  for (int end = 1; end <= n; ++end) fronts[index(0, end)].push_back({.longest = nth(until, end)});
  for (int stage = 1; stage < stage_count; ++stage)
    for (int end = stage + 1; end <= n; ++end)
      for (int cut = stage; cut < end; ++cut) {
        auto const at = static_cast<std::size_t>(cut);
        double const own = nth(until, end) - until[at];
        double const more = c.volume[at - 1] * nth(c.link, stage - 1);
        auto const& before = fronts[index(stage - 1, cut)];
        for (std::size_t i = 0; i < before.size(); ++i)
          plan_detail::add(fronts[index(stage, end)], {.longest = max_of(before[i].longest, own),
                                                       .cuts = before[i].cuts + more,
                                                       .previous_end = cut,
                                                       .previous = static_cast<int>(i)});
      }
  auto const& last = fronts[index(stage_count - 1, n)];
  std::size_t best = 0;
  auto const time = [&](cut_choice const& made) { return c.repeats * made.longest + made.cuts; };
  for (std::size_t i = 1; i < last.size(); ++i)
    if (time(last[i]) < time(last[best])) best = i;
  std::vector<int> sizes;
  for (int stage = stage_count - 1, end = n; stage >= 0; --stage) {
    cut_choice const made = fronts[index(stage, end)][best];
    sizes.push_back(end - made.previous_end);
    end = made.previous_end;
    best = static_cast<std::size_t>(made.previous);
  }
  reverse(sizes);
  return sizes;
}

}  // namespace ashlar
