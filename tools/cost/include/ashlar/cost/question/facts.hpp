// Facts about a training program that decide how long its steps take.
#pragma once

#include <array>
#include <cstddef>

namespace ashlar::cost {

// Each has a value for every program; a run may say another.
enum class fact : unsigned char {
  tensor_overlap,     // exchanges of tensor ranks run during products
  data_overlap,       // gradient sums and weight gathers run during passes
  transfers,          // when messages between stages go
  expert_overlap,     // what dispatch and combine run beside
  expert_dispatch,    // how tokens go to experts
  expert_products,    // how a rank computes its experts
  fused_permutation,  // a kernel that sorts tokens by expert, and one that adds them up again
  graphs,             // what CUDA graphs launch
  fused_norm,         // a kernel for a norm
  fused_activation,   // a kernel for gate and product
  fused_rotation,     // a kernel for rotations of queries and keys
  scales,             // of products in 8 bits
  loss,               // how the loss takes logits
  context_balance,    // context ranks have equal shares of causal scores
  main_weights,       // formats of the weights that the optimizer updates, and of its moments
  first_moment,
  second_moment
};
inline constexpr std::size_t fact_count = 17;

// Values of facts, by number; those of a switch are off and on.
inline constexpr unsigned char is_off = 0, is_on = 1;
enum class message : unsigned char {
  single,   // each alone, in the way of passes
  batched,  // a message with the one that comes back, in the way of passes
  beside    // during passes
};
enum class expert_exchange : unsigned char {
  in_the_way,
  beside_others,  // passes of another micro-batch
  beside_shared   // the pass of the shared expert
};
enum class token_dispatch : unsigned char {
  all_to_all,  // a copy for each chosen expert
  once,        // a copy for each rank: DeepEP, HybridEP
  all_gather   // all tokens to all ranks
};
enum class expert_kernels : unsigned char {
  grouped,  // a product for each expert, launched together
  loop,     // a part for each expert, launched one after the other
  single    // one product for all
};
enum class captured : unsigned char { nothing, layers, step };
enum class scaling : unsigned char {
  current,  // a scale a tensor, of its largest element, which is found first
  delayed,  // a scale a tensor, of earlier steps
  blocks    // a scale for each 128 elements, in 32 bits
};
enum class logits_held : unsigned char {
  whole,  // in 16 bits, and in 32 bits with their logarithmic softmax and its gradient
  fused,  // with their gradient, in 16 bits
  chunks  // as `whole`, an eighth of the tokens at a time
};
enum class weights_held : unsigned char {
  bits_32,
  rest,  // the lower half of 32 bits, beside weights that have the upper one
  bits_16
};
enum class moment_held : unsigned char {
  bits_32,
  bits_16,
  bits_8,
  bits_4  // with a scale of 32 bits for each 128 (torchao)
};

// A fact's name, values and meaning in words.
struct described_fact {
  char const* name;
  std::array<char const*, 4> values;  // null behind the last
  char const* meaning;
};

// All facts, in the order of `fact`.
inline constexpr std::array<described_fact, fact_count> fact_table{{
    {"tensor-overlap", {"off", "on", nullptr}, "exchanges of tensor ranks run during products"},
    {"data-overlap", {"off", "on", nullptr}, "gradient sums and weight gathers run during passes"},
    {"transfers",
     {"single", "batched", "beside"},
     "messages of stages go one by one, with the one that comes back, or during passes"},
    {"expert-overlap",
     {"off", "on", "shared"},
     "dispatch and combine run during passes of another micro-batch, or of the shared expert"},
    {"expert-dispatch",
     {"all-to-all", "once", "all-gather"},
     "a token goes to each chosen expert, once to each rank (DeepEP, HybridEP), or to all ranks"},
    {"expert-products",
     {"grouped", "loop", "single"},
     "experts' products are launched together, part by part, or are one kernel"},
    {"fused-permutation", {"off", "on", nullptr}, "tokens are sorted and added up in one kernel each"},
    {"graphs", {"none", "layers", "step"}, "what CUDA graphs launch"},
    {"fused-norm", {"off", "on", nullptr}, "a norm is one kernel"},
    {"fused-activation", {"off", "on", nullptr}, "gate and product are one kernel"},
    {"fused-rotation", {"off", "on", nullptr}, "rotations of queries and keys are one kernel"},
    {"scales",
     {"current", "delayed", "blocks"},
     "8-bit products scale tensors by their own maxima, by earlier ones, or 128 elements each"},
    {"loss",
     {"whole", "fused", "chunks"},
     "logits are held with copies in 32 bits, without, or for an eighth of the tokens"},
    {"context-balance", {"off", "on", nullptr}, "context ranks have equal shares of causal scores"},
    {"main-weights",
     {"32-bit", "rest", "16-bit"},
     "the optimizer's weights: in 32 bits, their lower half beside the model's, or in 16"},
    {"first-moment", {"32-bit", "16-bit", "8-bit", "4-bit"}, "the optimizer's mean of gradients"},
    {"second-moment",
     {"32-bit", "16-bit", "8-bit", "4-bit"},
     "the optimizer's mean of squared gradients"},
}};

// Facts that are numbers. Nothing else follows from those that a run leaves out.
enum class fact_number : unsigned char { bucket, imbalance, capacity };
inline constexpr std::size_t fact_number_count = 3;

// Its name, the least and the largest value, the words for no value, and its meaning.
struct described_number {
  char const* name;
  double least, most;
  char const* unsaid;
  char const* meaning;
};

// All of them, in the order of `fact_number`.
inline constexpr std::array<described_number, fact_number_count> fact_number_table{{
    {"bucket", 1, 1e15, "as fitted", "parameters whose gradients are summed at once"},
    {"imbalance", 1, 1e6, "1", "tokens of the busiest expert rank, over their mean"},
    {"capacity", 1e-3, 1e6, "none", "tokens that experts take at most, over their mean"},
}};

// By number; 0 where it is not said.
using fact_numbers = std::array<double, fact_number_count>;

// A value for each fact.
struct fact_values {
  std::array<unsigned char, fact_count> of{};
  fact_numbers numbers{};

  // The number of a value; whether a switch is on.
  constexpr unsigned char at(fact f) const { return of[static_cast<std::size_t>(f)]; }
  constexpr bool has(fact f) const { return at(f) == is_on; }
  constexpr void set(fact f, unsigned char value) { of[static_cast<std::size_t>(f)] = value; }

  message transfers() const { return static_cast<message>(at(fact::transfers)); }
  expert_exchange exchange() const { return static_cast<expert_exchange>(at(fact::expert_overlap)); }
  token_dispatch dispatch() const { return static_cast<token_dispatch>(at(fact::expert_dispatch)); }
  expert_kernels experts() const { return static_cast<expert_kernels>(at(fact::expert_products)); }
  captured graphs() const { return static_cast<captured>(at(fact::graphs)); }
  scaling scales() const { return static_cast<scaling>(at(fact::scales)); }
  logits_held loss() const { return static_cast<logits_held>(at(fact::loss)); }
  weights_held main_weights() const { return static_cast<weights_held>(at(fact::main_weights)); }

  // Bytes that the optimizer holds of a parameter beside the model's weight, and of its moments.
  double main_bytes() const { return main_weights() == weights_held::bits_32 ? 4 : 2; }
  double mean_bytes() const { return bytes_of(fact::first_moment); }
  double square_bytes() const { return bytes_of(fact::second_moment); }
  double moment_bytes() const { return mean_bytes() + square_bytes(); }

  // 0 where it is not said.
  double number(fact_number n) const { return numbers[static_cast<std::size_t>(n)]; }
  // Tokens of the busiest expert rank over their mean: no expert takes more than its capacity.
  double expert_load() const {
    double const busiest = number(fact_number::imbalance), most = number(fact_number::capacity);
    double const asked = busiest > 1 ? busiest : 1;
    return most > 0 && most < asked ? most : asked;
  }

  friend constexpr bool operator==(fact_values const&, fact_values const&) = default;

 private:
  double bytes_of(fact moment) const {
    constexpr std::array of_kinds{4.0, 2.0, 1.0, 0.5 + 4.0 / 128};  // in the order of moment_held
    return of_kinds[at(moment)];
  }
};

// The facts that a run says, where it says any.
struct given_facts {
  static constexpr unsigned char not_said = 255;

  std::array<unsigned char, fact_count> of = all_unsaid();
  fact_numbers numbers{};

  // Says the number of a fact's value.
  constexpr void say(fact f, unsigned char value) { of[static_cast<std::size_t>(f)] = value; }
  constexpr void say(fact_number n, double value) { numbers[static_cast<std::size_t>(n)] = value; }

  friend constexpr bool operator==(given_facts const&, given_facts const&) = default;

 private:
  static constexpr std::array<unsigned char, fact_count> all_unsaid() {
    std::array<unsigned char, fact_count> all{};
    for (unsigned char& each : all) each = not_said;
    return all;
  }
};

}  // namespace ashlar::cost
