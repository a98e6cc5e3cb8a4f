// A pass: one piece of compute, (kind, stage, micro-batch).
#pragma once

#include <ashlar/core/language.hpp>

namespace ashlar {

enum class pass_kind : unsigned char {
  forward,
  recompute,        // the forward once more, to rebuild activations that were not kept
  backward,         // fused: gradient of the input and of the weights
  backward_input,   // gradient of the input only
  backward_weight,  // gradient of the weights only
  work,             // filled in by another system: a part of a job (part_id, model/work.hpp)
};
inline constexpr int pass_kinds = 6;

// Whether every forward has its backward; inference has forwards only.
enum class execution_mode : unsigned char { training, inference };

struct pass {
  pass_kind kind = pass_kind::forward;
  int stage = 0;
  int micro_batch = 0;

  friend constexpr bool operator==(pass const&, pass const&) = default;
};

// A part of a job of work. Where passes and work stand side by side, in orders, streams and edges, it
// is a pass of kind `work`. How that names it, only this file knows.
struct part_id {
  int job = 0;
  int part = 0;

  constexpr operator pass() const { return {pass_kind::work, job, part}; }
  friend constexpr bool operator==(part_id const&, part_id const&) = default;
};

// Whether a pass is a part of work, and which. (Where constant evaluation asks for each pass, the kind
// is compared in place: a call costs steps.)
constexpr bool is_part(pass const& what) { return what.kind == pass_kind::work; }
constexpr part_id part_of(pass const& what) { return {what.stage, what.micro_batch}; }

// Whether the pass computes the gradient that the previous stage waits for.
constexpr bool gives_input_gradient(pass_kind kind) {
  return kind == pass_kind::backward || kind == pass_kind::backward_input;
}

// Whether the pass adds to its stage's weight gradient. It is also the one after which the activations
// are freed.
constexpr bool gives_weight_gradient(pass_kind kind) {
  return kind == pass_kind::backward || kind == pass_kind::backward_weight;
}

// A fused backward or one of its two passes.
constexpr bool is_backward(pass_kind kind) {
  return kind >= pass_kind::backward && kind <= pass_kind::backward_weight;
}

// The result of a finished pass, as a small index for tables. A fused backward and a backward_input give
// the same thing, the gradient of the input, hence they share a result.
enum class result : unsigned char { activation, recomputed, input_gradient, weight_gradient, none };
inline constexpr int results = 4;

// One expression, because finding a case of a switch is expensive in constant evaluation.
constexpr result result_of(pass_kind kind) {
  return kind == pass_kind::forward           ? result::activation
         : kind == pass_kind::backward_weight ? result::weight_gradient
         : gives_input_gradient(kind)         ? result::input_gradient
         : kind == pass_kind::recompute       ? result::recomputed
                                              : result::none;
}

}  // namespace ashlar
