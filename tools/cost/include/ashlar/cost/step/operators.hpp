// Products of a layer as PyTorch's eager operators run them: one each for queries, keys, values and
// halves of gates. torchtitan's selective recomputation ("op") keeps every other one.
#pragma once

#include <ashlar/cost/question/question.hpp>

#include <vector>

namespace ashlar::cost {

// Per token on one tensor rank: the widths of the result and of the input.
struct operator_product {
  double out = 0, in = 0;
  bool is_kept = false;  // by selective recomputation: the first of a layer, and each second one
  double added = 0;      // of an adapter: columns of the sum with the frozen product
};

// In the order of the forward; an adapter's products follow the one that they are beside. Experts have
// none: their grouped products run again.
std::vector<operator_product> operator_products(question const& q, layer const& l);

}  // namespace ashlar::cost
