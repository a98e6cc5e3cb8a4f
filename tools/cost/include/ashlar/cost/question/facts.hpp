// Facts about a training program that decide how long its steps take.
#pragma once

#include <array>
#include <cstddef>

namespace ashlar::cost {

// Each has a value for every program; a run may say another.
enum class fact : unsigned char {
  tensor_overlap,    // exchanges of tensor ranks run during products
  data_overlap,      // gradient sums and weight gathers run during passes
  expert_overlap,    // dispatch and combine run during the passes of another micro-batch
  expert_dispatch,   // how tokens go to experts
  graphs,            // what CUDA graphs launch
  fused_activation,  // a kernel for gate and product
  fused_rotation,    // a kernel for rotations of queries and keys
  loss,              // how the loss takes logits
  context_balance    // context ranks have equal shares of causal scores
};
inline constexpr std::size_t fact_count = 9;

// Values of facts, by number; those of a switch are off and on.
inline constexpr unsigned char is_off = 0, is_on = 1;
enum class token_dispatch : unsigned char {
  all_to_all,  // a copy for each chosen expert
  once         // a copy for each rank: DeepEP, HybridEP
};
enum class captured : unsigned char { nothing, layers, step };
enum class logits_held : unsigned char {
  whole,  // in 16 bits, and in 32 bits with their logarithmic softmax and its gradient
  fused,  // with their gradient, in 16 bits
  chunks  // as `whole`, an eighth of the tokens at a time
};

// A fact's name, values and meaning in words.
struct described_fact {
  char const* name;
  std::array<char const*, 3> values;  // null behind the last
  char const* meaning;
};

// All facts, in the order of `fact`.
inline constexpr std::array<described_fact, fact_count> fact_table{{
    {"tensor-overlap", {"off", "on", nullptr}, "exchanges of tensor ranks run during products"},
    {"data-overlap", {"off", "on", nullptr}, "gradient sums and weight gathers run during passes"},
    {"expert-overlap",
     {"off", "on", nullptr},
     "dispatch and combine run during passes of another micro-batch"},
    {"expert-dispatch",
     {"all-to-all", "once", nullptr},
     "a token goes to each chosen expert, or once to each rank (DeepEP, HybridEP)"},
    {"graphs", {"none", "layers", "step"}, "what CUDA graphs launch"},
    {"fused-activation", {"off", "on", nullptr}, "gate and product are one kernel"},
    {"fused-rotation", {"off", "on", nullptr}, "rotations of queries and keys are one kernel"},
    {"loss",
     {"whole", "fused", "chunks"},
     "logits are held with copies in 32 bits, without, or for an eighth of the tokens"},
    {"context-balance", {"off", "on", nullptr}, "context ranks have equal shares of causal scores"},
}};

// A value for each fact.
struct fact_values {
  std::array<unsigned char, fact_count> of{};

  // The number of a value; whether a switch is on.
  constexpr unsigned char at(fact f) const { return of[static_cast<std::size_t>(f)]; }
  constexpr bool has(fact f) const { return at(f) == is_on; }

  token_dispatch dispatch() const { return static_cast<token_dispatch>(at(fact::expert_dispatch)); }
  captured graphs() const { return static_cast<captured>(at(fact::graphs)); }
  logits_held loss() const { return static_cast<logits_held>(at(fact::loss)); }

  friend constexpr bool operator==(fact_values const&, fact_values const&) = default;
};

// The facts that a run says, where it says any.
struct given_facts {
  static constexpr unsigned char not_said = 255;

  std::array<unsigned char, fact_count> of = all_unsaid();

  // Says the number of a fact's value.
  constexpr void say(fact f, unsigned char value) { of[static_cast<std::size_t>(f)] = value; }

  friend constexpr bool operator==(given_facts const&, given_facts const&) = default;

 private:
  static constexpr std::array<unsigned char, fact_count> all_unsaid() {
    std::array<unsigned char, fact_count> all{};
    for (unsigned char& each : all) each = not_said;
    return all;
  }
};

}  // namespace ashlar::cost
