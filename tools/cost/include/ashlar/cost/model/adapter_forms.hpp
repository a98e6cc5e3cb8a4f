// An adapter of each kind beside one matrix, as peft makes it: its parameters, products and bytes.
#pragma once

#include <ashlar/cost/model/adapted_matrices.hpp>

#include <vector>

namespace ashlar::cost {

// When a product of an adapter runs: in a forward, followed by gradients of both operands, or of one; in
// a forward alone; or in a backward alone.
enum class adapter_pass : unsigned char { both_gradients, one_gradient, forward, backward };

// An m x k and a k x n matrix, `count` in one kernel. Without rows of its own, those are tokens.
struct adapter_product {
  double n = 0, k = 0;
  adapter_pass runs = adapter_pass::both_gradients;
  double m = 0;
  double count = 1;
};

// Passes, of a forward and two of a backward.
constexpr double passes_of(adapter_product const& p) {
  return p.runs == adapter_pass::both_gradients ? 3 : p.runs == adapter_pass::one_gradient ? 2 : 1;
}

// Bytes beside the products: of each token, and of a pass whatever its tokens are.
struct adapter_bytes {
  double forward = 0, backward = 0, forward_once = 0, backward_once = 0;
};

struct adapter_form {
  double parameters = 0;  // that train
  std::vector<adapter_product> products;
  adapter_bytes moved;
  bool unpacks_weights = false;    // once more in a forward
  bool reads_input = false;        // keeps the input that it shares with other matrices
  double kept = 0, kept_once = 0;  // bytes beside that input: of each token, and of a micro-batch
  double at_work = 0;              // bytes while one matrix is at work
  double held = 0;                 // bytes of its own that do not train
};

// The adapter of this matrix.
adapter_form form_of(adapters const& of, adapted_matrix const& to);

// Bytes of one pair of frozen matrices that all adapters of a model share, each as large as the largest
// needs.
double shared_bytes(adapters const& of, double largest_in, double largest_out);

}  // namespace ashlar::cost
