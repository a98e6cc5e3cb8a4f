// How parameters are updated, and what an optimizer keeps of them.
#pragma once

namespace ashlar::cost {

// The state of each parameter, or of each matrix.
enum class optimizer_kind : unsigned char {
  adam,       // a mean of gradients and one of their squares
  nothing,    // SGD
  means,      // a mean alone: SGD with momentum, Lion (Chen et al. 2023)
  squares,    // squares alone: RMSprop, Adagrad
  two_means,  // two means, and squares: AdEMAMix (Pagliardini et al. 2024)
  // From here on matrices are updated as a whole.
  muon,       // a mean, which is made orthogonal; Adam's state beside the layers and of norms
  adafactor,  // squares of rows and of columns (Shazeer and Stern 2018)
  adam_mini,  // a mean, and squares of each row, or of a head (Zhang et al. 2024)
  galore,     // Adam's state of gradients that are projected by singular vectors (Zhao et al. 2024)
  apollo      // likewise, projected at random (Zhu et al. 2024)
};

// The optimizer of a run.
struct optimizer {
  optimizer_kind kind = optimizer_kind::adam;
  int rank = 0;                  // of projections
  bool fuses_queries = false;    // queries, keys and values are one matrix, as in Phi-3
  bool fuses_gates = false;      // gate and up are
  bool takes_experts = false;    // of muon: experts' matrices, too; else they have Adam's state
  bool is_repeated = false;      // of muon: each rank that shares a matrix makes the whole orthogonal
  bool updates_at_once = false;  // each parameter, when its gradient is there, which is then freed

  bool takes_matrices() const { return kind >= optimizer_kind::muon; }

  friend constexpr bool operator==(optimizer const&, optimizer const&) = default;
};

}  // namespace ashlar::cost
