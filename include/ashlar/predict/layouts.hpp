// The layouts that a question leaves open, by what is predicted of them.
#pragma once

#include <ashlar/core/function_ref.hpp>
#include <ashlar/predict/constants.hpp>
#include <ashlar/predict/question.hpp>
#include <ashlar/predict/ranked_layout.hpp>

#include <array>
#include <cstddef>
#include <vector>

namespace ashlar::predict {

// The sizes that are to be chosen. The others stay as the question has them. Open data ranks are what
// the others leave; if they are not, the others leave as many.
struct open_sizes {
  bool micro_batch = true, tensor = true, pipeline = true, chunks = true, context = true, expert = true,
       expert_tensor = true, data = true, shares = true, again = true, ends = true;
  // What takes longer to try, and is so only where asked for: any division of layers, single parts of
  // layers and the first layers of each stage that are run again, which ranks are inside a node, and the
  // format of products.
  bool stages = false, parts = false, order = false, format = false;
  // Not what differs, but what is looked for besides: pipelines for schedules with pairs.
  bool pairs = false;
  // What does not fit sends values to the host, as far as the machine says what that takes: the fewest
  // parts of layers, then all that the fewest first layers keep; each without and with the optimizer.
  bool leaves = false;
};

// Why layouts are not tried, or not shown.
enum class left_out : unsigned char {
  too_large,         // does not fit
  slower,            // whatever it holds, it takes longer than the last that is shown
  idle_stage,        // a stage has no layer
  tensor_is_apart,   // tensor ranks beyond a fast link's domain
  uneven_chunks,     // virtual stages of different length, or micro-batches in no whole groups
  sharded_pipeline,  // weights or gradients shared beside a pipeline
  unwanted,          // the filter says no
  refused            // no such run: `by_requirement` says why
};
inline constexpr std::size_t left_out_count = static_cast<std::size_t>(left_out::refused) + 1;

// What best_layouts() found.
struct layouts_found {
  std::vector<ranked_layout> best;  // that fit, the fastest first; of equal ones that which holds less
  std::vector<ranked_layout> smallest;  // if none fits, the one that holds least
  // With `pairs`: pipelines that fit and would take the least if passes hid as much of the experts'
  // exchange as they compute, each with other ranks or micro-batches.
  std::vector<ranked_layout> for_pairs;
  long long tried = 0;  // that devices, batch and model allow
  std::array<long long, left_out_count> counts{};
  std::array<long long, requirement_count> by_requirement{};
  std::vector<question> refused;  // nothing tried: one that predict_run() refuses, with the reason
  bool is_whole = true;           // false: the watch ended it

  // Of what was tried.
  long long too_large() const { return count(left_out::too_large); }
  long long count(left_out why) const { return counts[static_cast<std::size_t>(why)]; }
};

// Whether training programs run it: tensor ranks within a fast link's domain; virtual stages that are
// all as long, if the question does not deal layers itself, and take micro-batches in groups of the
// pipeline; sharded weights or gradients without a pipeline; a layer for each stage.
bool is_usual(question const& q);

// Called now and then with what was found so far; whether to go on.
using layouts_watch = function_ref<bool(layouts_found const&)>;

// Whether a layout may be among the best. Asked before layers are dealt, and so with an even division.
using layout_filter = function_ref<bool(question const&)>;

// Lets everything through.
constexpr bool any_layout(question const&) { return true; }

// Tries every usual layout of these sizes and keeps the `most` best. Tensor, context, pipeline and
// expert ranks are all divisors; expert-tensor ranks 1 or as many as tensor ranks; chunks up to a layer
// a stage; micro-batches 1, 2, 4 ... sequences; layers dealt evenly, also with embedding and loss as one
// each where all stages are then as long; what is shared nothing, the optimizer's state, or everything;
// what is run again nothing, and where that does not fit attention, or whole layers. With open stages,
// the best and the nearly fitting ones get the division of deal_layers(). A layout that the question
// names stays, with its stages. Only what `wanted` lets through is weighed. Where the question leaves
// the program open, what is not sharded runs as Megatron-Core does, and says so if its sizes would not.
// Linear in what is tried, some 10 microseconds each. Throws unpredictable for a size that is not
// positive, and with check(c).
layouts_found best_layouts(question const& q, open_sizes const& open, constants const& c,
                           std::size_t most, layouts_watch watch, layout_filter wanted = any_layout);

}  // namespace ashlar::predict

#ifndef ASHLAR_COMPILED
#include <ashlar/predict/layouts.ipp>
#endif
