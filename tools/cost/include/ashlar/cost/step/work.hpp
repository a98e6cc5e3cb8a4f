// The work of one layer for one micro-batch on one device: products, scores, bytes, exchanges.
#pragma once

#include <ashlar/cost/question/question.hpp>

#include <vector>

namespace ashlar::cost {

// A product of an m x k and a k x n matrix, `count` at once (the experts held here).
struct product {
  double m = 0, n = 0, k = 0;
  double count = 1;
  bool is_low = true;          // in the low format where the run has one
  bool is_one_kernel = false;  // all at once
  bool has_backward = true;
};

// The arithmetic and the traffic of one layer.
struct layer_work {
  std::vector<product> products;
  double scores = 0;                             // elements that a causal mask keeps
  double all_scores = 0;                         // with masked ones
  double head = 0;                               // mean size of query and value heads
  double forward_bytes = 0, backward_bytes = 0;  // of norms, sums, activations, rotations, permutations
  double quantised_forward = 0, quantised_backward = 0;  // elements that are turned into the low format
  double scan = 0;                                       // channels x tokens
  double tensor_bytes = 0;   // of one exchange between tensor ranks: (t - 1) / t of the tokens
  int tensor_count = 0;      // exchanges in a pass
  double expert_bytes = 0;   // dispatched by one device; as many come back
  double gather_bytes = 0;   // between expert-tensor ranks
  double context_bytes = 0;  // keys and values of this rank
  int parts = 0;             // mixers and feed-forward parts, which the host launches
  double experts = 0;        // held here
};

// The work of one layer for one micro-batch, on one device.
layer_work work_of(question const& q, layer const& l);

// The work that a backward recomputes.
layer_work work_again(question const& q, layer const& l, recomputation parts);

// The pass of the shared expert alone.
layer_work shared_expert_work(question const& q, feed_forward const& f);

// The head's product: the logits of one predicted token.
product head_product(question const& q);

}  // namespace ashlar::cost
