// Ways to divide the layers of a model over the stages of a layout, for a search to choose from.
#pragma once

#include <ashlar/core/ids.hpp>
#include <ashlar/search/portfolio.hpp>
#include <ashlar/search/problem.hpp>

#include <cstdint>
#include <vector>

namespace ashlar {

// The costs of one layer, in any unit of memory.
struct layer_share {
  stage_cost cost;
  byte_count resident = 0;  // permanent: weights, gradients, optimizer state
  byte_count stash = 1;     // kept by a forward

  friend constexpr bool operator==(layer_share const&, layer_share const&) = default;
};

// A chain of layers. Each stage takes consecutive ones.
struct layer_chain {
  micro_batches m;
  std::vector<layer_share> layers;
  machine on = {};
  byte_count message = 0;
  std::vector<byte_count> budget;  // of a device, one for all or one each
};

// The layout with stages of this many layers each: their costs, their memory, the model's budgets.
// Throws violation: rule::tables_agree unless there is a size for each stage, all layers are used, and
// there is one budget or one for each device; rule::counts_are_positive for a negative size and without
// micro-batches; rule::no_duration_is_negative and rule::sizes_fit for a layer's costs or a device's
// budget.
layout_choice with_layers(layer_chain const& model, layout_choice plain, std::vector<int> sizes,
                          layer_division division);

namespace plan_detail {

// The load of the busiest device for a micro-batch.
tick busiest_of(search_problem const& problem);

}  // namespace plan_detail

// Returns distinct ways to divide the layers over the stages of a layout:
//
// * evenly, by count, which is the first;
// * with the least load of the busiest device that moving single layers from the best partition
//   finds;
// * by bound: from each of these, single layers move to neighbours while a lower bound falls; the
//   better end of the two. Layers leave devices that lack memory for any schedule, and the ends of the
//   pipeline get less if its fill takes long.
//
// and, if there are at most `most_divisions` in all, all others, each as `other`. A search then covers
// all divisions.
//
// Bounds are computed `most_bounds` times, and a few more; 0 omits the last two. Throws
// violation{rule::parameter_is_at_least} unless there is a layer for each stage, and for costs that no
// schedule may have. There is a budget for all devices or one for each.
std::vector<layout_choice> divisions_of(layer_chain const& model, layout_choice const& plain,
                                        int most_bounds = 120, int most_divisions = 24);

// Number of ways to divide layers over stages with at least one each, capped at INT64_MAX.
std::int64_t division_count(int layers, int stage_count);

// All divisions of each layout that plain_layouts() gives with few enough stages, in all variants. Those
// without any schedule within memory are left out.
std::vector<layout_choice> layouts_for(layer_chain const& model, devices p, variety const& how = {});

}  // namespace ashlar
