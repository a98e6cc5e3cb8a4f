// Searches the layouts that a question leaves open for the best predicted ones.
#pragma once

#include <ashlar/core/function_ref.hpp>
#include <ashlar/cost/choose/ranked_layout.hpp>
#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/constants.hpp>

#include <array>
#include <cstddef>
#include <vector>

namespace ashlar::cost {

// The sizes to choose. The others stay as in the question. Data ranks fill the remaining devices; if
// they are not open, the other ranks must leave exactly that many.
struct open_sizes {
  bool micro_batch = true, tensor = true, pipeline = true, chunks = true, context = true, expert = true,
       expert_tensor = true, data = true, shares = true, again = true, ends = true;
  // These take longer to try, so they are open only on request: any division of layers, recomputing
  // single parts of layers or the first layers of each stage, which ranks are inside a node, and the
  // format of products.
  bool stages = false, parts = false, order = false, format = false;
  // Also looks for pipelines for schedules with pairs. It opens no size.
  bool pairs = false;
  // Layouts that do not fit offload values to the host if the machine describes its host: the fewest
  // parts of layers, then everything that the fewest first layers keep; each without and with the
  // optimizer.
  bool leaves = false;
  // The order of the kinds of devices along a pipeline, and which of them take part.
  bool kinds = true;
};

// Why a layout is not tried, or not shown.
enum class left_out : unsigned char {
  too_large,         // does not fit
  slower,            // slower than the results kept, regardless of memory
  idle_stage,        // a stage has no layer
  tensor_is_apart,   // tensor ranks span several fast-link domains
  uneven_chunks,     // virtual stages differ in length, or micro-batches form no whole groups
  sharded_pipeline,  // weights or gradients are sharded beside a pipeline
  unwanted,          // the filter rejects it
  refused            // cannot be predicted; see `by_requirement`
};
inline constexpr std::size_t left_out_count = static_cast<std::size_t>(left_out::refused) + 1;

// The result of best_layouts().
struct layouts_found {
  std::vector<ranked_layout> best;  // those that fit, fastest first; of equals the one that holds less
  std::vector<ranked_layout> smallest;  // if none fits, the one that holds least
  // With `pairs`: pipelines that fit and would be fastest if passes hid as much of the experts' exchange
  // as they compute, each with other ranks or micro-batches.
  std::vector<ranked_layout> for_pairs;
  long long tried = 0;  // layouts that devices, batch and model allow
  std::array<long long, left_out_count> counts{};
  std::array<long long, requirement_count> by_requirement{};
  std::vector<question> refused;  // if nothing was tried: one that predict_run() refuses, with reason
  bool is_whole = true;           // false: the watch ended the search

  // Numbers of layouts that were left out.
  long long too_large() const { return count(left_out::too_large); }
  long long count(left_out why) const { return counts[static_cast<std::size_t>(why)]; }
};

// Whether training programs run the layout: tensor ranks within a fast link's domain; equally long
// virtual stages, unless the question divides the layers itself, with micro-batches in groups of the
// pipeline; sharded weights or gradients only without a pipeline; a layer for each stage. Requires a
// question that check() accepts.
bool is_usual(question const& q);

// Called from time to time with the results so far. Returns whether to go on.
using layouts_watch = function_ref<bool(layouts_found const&)>;

// Whether a layout may be among the best. Called before layers are divided, so with an even division.
using layout_filter = function_ref<bool(question const&)>;

// Accepts every layout.
constexpr bool any_layout(question const&) { return true; }

// Tries every usual layout of these sizes and keeps the `most` best. Tensor, context, pipeline and
// expert ranks take all divisors; expert-tensor ranks are 1 or the tensor ranks; chunks go up to a layer
// per stage; micro-batches are 1, 2, 4 ... sequences. Layers are divided evenly, also with embedding and
// loss as one each if all stages are then equally long. Data ranks shard nothing, the optimizer's state,
// or everything. Nothing is recomputed or, if that does not fit, attention or whole layers. With open
// stages, the best and the nearly fitting layouts get the division of deal_layers(). A layout named in
// the question stays, with its stages. Only layouts that pass `wanted` are weighed. If the question
// leaves the program open, unsharded layouts run as Megatron-Core does, and say so if their sizes would
// not. Linear in the number tried, some 10 microseconds each. Throws unpredictable for a size that is
// not positive, and with check(c).
layouts_found best_layouts(question const& q, open_sizes const& open, constants const& c,
                           std::size_t most, layouts_watch watch, layout_filter wanted = any_layout);

}  // namespace ashlar::cost
