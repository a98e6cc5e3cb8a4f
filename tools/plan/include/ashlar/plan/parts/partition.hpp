// Cuts a chain of layers into stages with the shortest pipeline step.
#pragma once

#include <ashlar/core/language.hpp>

#include <vector>

namespace ashlar {

// Costs of cutting a chain, in any unit of time.
struct cut_costs {
  std::vector<double> layer;   // by layer, per micro-batch
  std::vector<double> volume;  // by layer, of its output to the next
  std::vector<double> link;    // by cut, first to last: time of a unit of volume
  double repeats = 0;          // weight of the longest stage beside the sum of all: micro-batches - 1
};

// repeats * longest stage + the cuts + all layers, for stages of this many layers each: the fill of the
// pipeline, then one micro-batch after another at the pace of the slowest stage. Linear. Throws
// violation: rule::counts_are_positive for a stage without layers, rule::tables_agree for stages of
// other layers, or costs that do not have every layer and cut, rule::figures_are_in_range for costs that
// are negative or NaN.
double pipeline_time(cut_costs const& c, std::vector<int> const& sizes);

// Divides layers evenly; the first stages get one more if it does not come out even. `before` layers
// stay with the first stage and `behind` with the last, beside their share. Throws violation:
// rule::sizes_fit if one of these is negative, rule::parameter_is_at_least unless there is a layer for
// each stage, rule::parameter_is_at_most for more stages than most_stages.
std::vector<int> uniform_partition(int layer_count, int stage_count, int before = 0, int behind = 0);

namespace plan_detail {

// One way to cut the first layers into a number of stages, as seen by the last of them.
struct cut_choice {
  double longest = 0, cuts = 0;
  int previous_end = 0;  // layers of the stages before the last
  int previous = -1;     // index of their choice there
};

// The most stages times layers, for memory.
inline constexpr int most_cells = 1 << 24;

// Adds a choice to a Pareto front; entries descend in `cuts` as `longest` ascends.
void add(std::vector<cut_choice>& front, cut_choice const& made);

}  // namespace plan_detail

// The sizes of the stages with the least pipeline_time; of several, any. A dynamic programme over
// (stages, layers) keeps, for each, the Pareto-optimal choices in the longest stage and the sum of the
// cuts: later stages only add to the one and raise the other, so the best is among them. O(p n^2) times
// the size of these fronts, which is small for similar layers. Throws violation:
// rule::parameter_is_at_least unless there is a layer for each stage, rule::parameter_is_at_most for
// more than most_cells of stages times layers, and for costs as pipeline_time() does.
std::vector<int> best_partition(cut_costs const& c, int stage_count);

}  // namespace ashlar
