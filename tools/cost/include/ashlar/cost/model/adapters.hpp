// Low-rank adapters beside the frozen products of a model: W x + B A x (Hu et al. 2021, LoRA).
#pragma once

#include <ashlar/core/language.hpp>

namespace ashlar::cost {

// Matrices of a layer, each a bit. Fused ones are one product of several.
enum class adapted : unsigned short {
  none = 0,
  queries = 1,
  keys = 2,
  values = 4,
  result = 8,
  queries_keys_values = 16,  // fused
  gates = 32,                // of dense parts and of experts that all tokens take, like the next three
  up = 64,
  down = 128,
  gates_up = 256,  // fused
  // of compressed attention
  queries_down = 512,
  queries_up = 1024,
  keys_values_down = 2048,
  keys_values_up = 4096,
  head = 8192  // of the model
};

// The union of both; and whether `part` is in `all`.
constexpr adapted operator|(adapted a, adapted b) {
  return static_cast<adapted>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(adapted all, adapted part) {
  return (static_cast<unsigned>(all) & static_cast<unsigned>(part)) != 0;
}

// Every matrix of a layer, each once.
inline constexpr adapted every_matrix = adapted::queries | adapted::keys | adapted::values
                                        | adapted::result | adapted::queries_down | adapted::queries_up
                                        | adapted::keys_values_down | adapted::keys_values_up
                                        | adapted::gates | adapted::up | adapted::down;

// How frozen matrices beside adapters are held: as they are, or as bitsandbytes packs them (Dettmers et
// al. 2022, LLM.int8(); 2023, QLoRA).
enum class packing : unsigned char { none, bits_8, bits_4 };

// Kinds of adapters beside a matrix W.
enum class adapter_kind : unsigned char {
  low_rank,           // B A
  magnitudes,         // a factor for each row of W + B A, over the norm of the row (DoRA)
  singular_values,    // B E A with a diagonal E (AdaLoRA)
  rotations,          // W R, where R has orthogonal blocks of `rank` rows (OFT v2)
  shared_matrices,    // vectors beside A and B, which are frozen and the same for all (VeRA)
  summed_inputs,      // B, for sums of blocks of inputs (MiSS)
  blocks_of_weights,  // W + W B + B in blocks (MiSS as Bat)
  factors,            // of results or of inputs (IA3)
  multiplied_pairs,   // two products of low rank, element by element (LoHa)
  kronecker,          // of a small matrix and one of low rank (LoKr)
  spectrum,           // `rank` numbers of a Fourier transform (FourierFT)
  butterflies         // a rotation of all inputs by blocks of `rank` rows, and factors (BOFT)
};

// Everything else of the model is frozen. Routers and routed experts have no adapters.
struct adapters {
  int rank = 0;  // 0: there are none
  adapted of = adapted::none;
  adapter_kind kind = adapter_kind::low_rank;
  bool drops_inputs = false;  // of magnitudes: the frozen product runs again, of what dropout leaves
  packing frozen = packing::none;
  bool packs_scales = false;  // of 4 bits: double quantization
  bool packs_head = false;
  // Embedding, head and norms, which are not packed, are in 32 bits, and so is what layers hand on.
  bool widens_rest = false;

  bool are_any() const { return rank > 0; }
  bool pack() const { return are_any() && frozen != packing::none; }

  friend constexpr bool operator==(adapters, adapters) = default;
};

}  // namespace ashlar::cost
