// A part of a model before its decoder: an encoder of text, images or sound, or what leads from one to
// the decoder.
#pragma once

#include <ashlar/cost/model/layer.hpp>

#include <string>
#include <vector>

namespace ashlar::cost {

// The largest number of tokens, sequences or devices, which are counted in whole numbers.
inline constexpr int largest_count = 2'000'000'000;

// A product beside the layers of a tower: of patches, or of what leads to the decoder.
struct tower_product {
  double rows = 0;  // of an input; 0: one for each token
  double inner = 0, columns = 0;
  bool is_ahead = false;  // of the layers
  bool has_bias = false;
  bool is_of_activations = false;  // without weights: scores of attention, or their use

  // Those of its weights, with a bias if it has one.
  double parameters() const {
    return is_of_activations ? 0 : inner * columns + (has_bias ? columns : 0);
  }

  friend bool operator==(tower_product const&, tower_product const&) = default;
};

// How a tower trains beside adapters: by its own, or whole, itself or in a copy beside it.
enum class beside_adapters : unsigned char { own, itself, copy };

// Layers with a width and tokens of their own. The first stage runs them before its own layers.
struct tower {
  std::string name = {};
  double hidden = 0;       // 0: it has no layers
  double tokens = 0;       // of an input, such as an image; 0: as many as a sequence has
  int inputs = 1;          // of a sequence
  bool continues = false;  // reads what the tower before it made
  bool is_frozen = false;
  beside_adapters trains_by = beside_adapters::own;
  bool keeps_all = false;            // nothing of it is recomputed
  bool is_undivided = false;         // each tensor rank runs all of it
  bool is_split_by_context = false;  // context ranks divide its inputs; otherwise each runs all of them
  double beside = 0;                 // parameters of norms, biases and positions beside the layers

  std::vector<layer> kinds = {};
  std::vector<int> layers = {};  // the kind of each
  std::vector<tower_product> products = {};

  // Tokens of an input, and the rows of a product for it, beside a sequence of so many tokens.
  double tokens_of(int sequence) const { return tokens > 0 ? tokens : sequence; }
  // In whole numbers, at most as many as a question may have.
  int whole_tokens_of(int sequence) const {
    double const all = tokens_of(sequence);
    return all < largest_count ? static_cast<int>(all) : largest_count;
  }
  double rows_of(tower_product const& p, int sequence) const {
    return p.rows > 0 ? p.rows : tokens_of(sequence);
  }
  // The product behind the layers whose result it hands on; null: the layers'.
  tower_product const* last_product() const {
    return !products.empty() && (layers.empty() || !products.back().is_ahead) ? &products.back()
                                                                              : nullptr;
  }
  // The width and the rows of what it hands on.
  double width() const { return last_product() != nullptr ? last_product()->columns : hidden; }
  double rows(int sequence) const {
    return last_product() != nullptr ? rows_of(*last_product(), sequence) : tokens_of(sequence);
  }

  friend bool operator==(tower const&, tower const&) = default;
};

}  // namespace ashlar::cost
