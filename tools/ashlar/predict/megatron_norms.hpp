// Megatron-LM's arguments for norms, biases and positions, and the parameters of these.
#pragma once

#include <ashlar/cost/model/architecture.hpp>

#include <string>
#include <vector>

namespace tool {

struct argument;

struct megatron_norms {
  bool is_rms = false;           // --normalization RMSNorm
  bool has_biases = true;        // unless --disable-bias-linear
  bool has_qkv_bias = false;     // --add-qkv-bias
  bool norms_heads = false;      // --qk-layernorm
  bool gates_shared = false;     // --moe-shared-expert-gate
  bool learns_positions = true;  // unless --position-embedding-type rope
  bool has_expert_bias = false;  // --moe-router-enable-expert-bias
  bool norms_embedding = false;  // --embed-layernorm of BigScience's fork
  bool are_counted = true;       // false: a model without them, for which no arguments are needed

  // Sets what stands beside the matrices, in a model that has these.
  void count_in(ashlar::cost::architecture& a, double positions) const;
  // Whether the model has as many parameters beside its matrices.
  bool fits(ashlar::cost::architecture const& a, double positions) const;
  std::vector<argument> arguments() const;

  static std::vector<megatron_norms> all();
};

}  // namespace tool
