// The layers of a model dealt to the stages of a layout, in ways that a search can choose from.
#pragma once

#include <ashlar/core/ids.hpp>
#include <ashlar/search/portfolio.hpp>
#include <ashlar/search/problem.hpp>

#include <cstdint>
#include <vector>

namespace ashlar {

// What one layer takes, in any unit of memory.
struct layer_share {
  stage_cost cost;
  byte_count resident = 0;  // all the time: weights, gradients, optimizer state
  byte_count stash = 1;     // what a forward keeps

  friend constexpr bool operator==(layer_share const&, layer_share const&) = default;
};

// A chain of layers, of which each stage takes some that follow each other.
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
// micro-batches; rule::no_duration_is_negative and rule::sizes_fit for what a layer takes or a device
// has.
layout_choice with_layers(layer_chain const& model, layout_choice plain, std::vector<int> sizes,
                          layer_division division);

namespace plan_detail {

// What the busiest device has to do for a micro-batch.
tick busiest_of(search_problem const& problem);

}  // namespace plan_detail

// Ways to deal the layers to the stages of a layout, each another:
//
// * evenly, by count, which is the first;
// * such that the busiest device has as little to do as moving single layers from the best partition
//   finds;
// * by bound: from each of these, single layers move to neighbours as long as a lower bound gets lower;
//   the better end of the two. What memory leaves no schedule for goes where there is room, and the ends
//   of the pipeline get less where its filling is what takes long.
//
// and, where there are at most `most_divisions` in all, all others, each as `other`. A search is then
// one of all divisions.
//
// Bounds are computed `most_bounds` times, and a few more; with 0 the last two are left out. Throws
// violation{rule::parameter_is_at_least} unless there is a layer for each stage, and for costs that no
// schedule may have. There is a budget for all devices or one for each.
std::vector<layout_choice> divisions_of(layer_chain const& model, layout_choice const& plain,
                                        int most_bounds = 120, int most_divisions = 24);

// Ways to deal so many layers to so many stages, one at least each; no more than INT64_MAX.
std::int64_t division_count(int layers, int stage_count);

// All of them for each layout that layouts_for() has stages enough for, in all variants. Those that the
// memory leaves no schedule for are not among them.
std::vector<layout_choice> layouts_for(layer_chain const& model, devices p, variety const& how = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/plan/training/layered_layouts.ipp>
#endif
