// The layouts that a question leaves open, by what is predicted of them.
#pragma once

#include <ashlar/core/function_ref.hpp>
#include <ashlar/predict/constants.hpp>
#include <ashlar/predict/question.hpp>

#include <cstddef>
#include <vector>

namespace ashlar::predict {

// The sizes that are to be chosen. The others stay as the question has them. Open data ranks are what
// the others leave; if they are not, the others leave as many.
struct open_sizes {
  bool micro_batch = true, tensor = true, pipeline = true, chunks = true, context = true, expert = true,
       expert_tensor = true, data = true, shares = true, again = true, ends = true;
};

// A layout, with what is predicted of it.
struct ranked_layout {
  question asked;
  double seconds = 0;  // of a step
  double peak = 0;     // bytes, on any device
};

// What best_layouts() found.
struct layouts_found {
  std::vector<ranked_layout> best;  // that fit, the fastest first; of equal ones that which holds less
  std::vector<ranked_layout> smallest;  // the one that holds least, whether it fits or not
  long long tried = 0;                  // that devices, batch and model allow
  long long too_large = 0;              // of these
  std::vector<question> refused;        // nothing tried: one that predict_run() refuses, with the reason
};

// Whether training programs run it: tensor ranks within a fast link's domain; virtual stages that are
// all as long and take micro-batches in groups of the pipeline; sharded weights or gradients without a
// pipeline; a layer for each stage.
bool is_usual(question const& q);

// Called now and then with what was found so far; whether to go on.
using layouts_watch = function_ref<bool(layouts_found const&)>;

// Tries every usual layout of these sizes and keeps the `most` best. Tensor, context, pipeline and
// expert ranks are all divisors; expert-tensor ranks 1 or as many as tensor ranks; chunks up to a layer
// a stage; micro-batches 1, 2, 4 ... sequences; layers divided evenly, also with embedding and loss as
// one each where all stages are then as long; what is shared nothing, the optimizer's state, or
// everything; what is run again nothing, attention, or whole layers. A layout that the question names
// stays, with its stages. Where the question leaves the program open, what is not sharded runs as
// Megatron-Core does, and says so if its sizes would not. Linear in what is tried, some 10 microseconds
// each. Throws unpredictable for a size that is not positive, and with check(c).
layouts_found best_layouts(question const& q, open_sizes const& open, constants const& c,
                           std::size_t most, layouts_watch watch);

}  // namespace ashlar::predict

#ifndef ASHLAR_COMPILED
#include <ashlar/predict/layouts.ipp>
#endif
