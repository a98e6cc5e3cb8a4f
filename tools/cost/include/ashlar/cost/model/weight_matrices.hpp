// The matrices of a layer, one by one, as an optimizer takes them.
#pragma once

#include <ashlar/cost/model/architecture.hpp>

#include <vector>

namespace ashlar::cost {

// Its rows are outputs. `count` alike are one parameter each, or the parts of one.
struct weight_matrix {
  double rows = 0, columns = 0;
  double count = 1;
  bool is_by_heads = false;  // queries or keys
  bool is_expert = false;

  double shorter() const { return rows < columns ? rows : columns; }
  double longer() const { return rows < columns ? columns : rows; }
  double parameters() const { return rows * columns * count; }
};

// Matrices of a layer, undivided: the operands of its products, gate and up of an expert as one. With
// adapters theirs alone.
std::vector<weight_matrix> weight_matrices(architecture const& a, layer const& l);

// Whether these are all matrices of every layer.
bool knows_weight_matrices(architecture const& a);

}  // namespace ashlar::cost
