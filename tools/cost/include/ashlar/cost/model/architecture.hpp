// A decoder as a list of layers, each with its mixer and its feed-forward part.
#pragma once

#include <ashlar/core/language.hpp>
#include <ashlar/cost/model/adapters.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace ashlar::cost {

// attention: grouped heads. compressed: multi-head latent attention. state_space: Mamba and linear
// attention, whose state has a size of its own.
enum class mixer_kind : unsigned char { none, attention, compressed, state_space };

// The part of a layer that mixes tokens, attention or a recurrence, with its sizes.
struct mixer {
  mixer_kind kind = mixer_kind::none;

  double heads = 0, groups = 0, head = 0;  // queries; keys and values; size of a head
  double window = 0;                       // tokens that a query sees; 0: all before it
  double chunk = 0;                        // tokens that see each other; 0: no chunks
  bool has_gate = false;                   // another matrix as large as that of the queries
  bool sees_all =
      false;  // tokens behind a query, too: an encoder, with as much of a window on each side

  double q_rank = 0;  // compressed; 0: queries are not compressed
  double kv_rank = 0, nope = 0, rope = 0, value_head = 0;

  double inner = 0;  // channels of a state-space layer
  double keys = 0;   // groups x state, of keys as of queries
  double steps = 0;  // columns for step sizes and decays
  double rank = 0;   // rank of Mamba-1, which makes keys and steps from its channels

  double beside = 0;  // parameters of norms, biases and convolutions

  friend constexpr bool operator==(mixer const&, mixer const&) = default;
};

// The kind of part that follows the mixer in a layer.
enum class feed_forward_kind : unsigned char { none, dense, experts };

// The feed-forward part of a layer, with its sizes.
struct feed_forward {
  feed_forward_kind kind = feed_forward_kind::none;
  bool is_gated = false;    // a third matrix
  bool is_clamped = false;  // gates that are clamped, with biases: no fused kernel

  double width = 0;  // dense
  double experts = 0, chosen = 0, expert_width = 0;
  double shared_width = 0;  // width of the expert that all tokens take
  double latent = 0;        // width that routed experts work on; 0: hidden
  // Experts form this many equal groups, and a token's experts lie in `chosen_groups` of them; 0: in
  // any.
  double groups = 0, chosen_groups = 0;

  double beside = 0;         // parameters of norms, biases and gates
  double beside_expert = 0;  // biases of one expert

  friend constexpr bool operator==(feed_forward const&, feed_forward const&) = default;
};

// Seconds and bytes of a layer that were measured for one sequence on one of its tensor ranks. They
// replace all formulas.
struct measured_layer {
  int tensor = 1;           // ranks that the layer is split over
  std::string device = {};  // name of the kind that was measured; empty: the devices are of one kind
  double forward = 0, backward = 0;
  // The shares of both that are causal attention, from 0 to 1.
  double attends_forward = 0, attends_backward = 0;
  double parameters = 0;
  double kept = 0;    // bytes from the forward to the backward
  double output = 0;  // bytes for the next layer; all that a recomputed layer keeps

  friend bool operator==(measured_layer const&, measured_layer const&) = default;
};

// A layer of the model.
struct layer {
  mixer mix = {};
  feed_forward feed = {};
  std::vector<measured_layer> measured = {};  // by tensor ranks and kind of device; empty: formulas hold

  friend bool operator==(layer const&, layer const&) = default;
};

// Parts whose parameters do not train.
struct frozen_parts {
  bool embedding = false, head = false;
  std::vector<bool> layers;  // by number; layers beyond the end train

  // Whether this layer, counted from 0, is frozen.
  bool has_layer(int number) const {
    auto const n = static_cast<std::size_t>(number);
    return n < layers.size() && layers[n];
  }

  friend bool operator==(frozen_parts const&, frozen_parts const&) = default;
};

// The gradients that a backward takes in a layer: all; of inputs alone, because its parameters are
// frozen; or none, because nothing before it trains either.
enum class gradient_kind : unsigned char { all, inputs, none };

// A decoder: its layers, embedding and head.
struct architecture {
  double hidden = 0;
  double vocabulary = 0;
  double embedding = 0;  // width of the embedding's rows; 0: hidden
  bool is_tied = false;  // the head has the embedding's weights
  double beside = 0;     // positions, norms before and after the layers, bias of the head

  std::vector<layer> kinds;  // distinct ones
  std::vector<int> layers;   // the kind of each

  layer predictor;       // predicts further tokens
  int predictions = 0;   // number of further tokens
  bool repeats = false;  // one predictor is run again for each

  frozen_parts frozen;
  adapters lora;  // with these, everything else is frozen

  int layer_count() const { return static_cast<int>(layers.size()); }
  // The layer of this number, from 0.
  layer const& at(int number) const {
    return kinds[static_cast<unsigned>(layers[static_cast<unsigned>(number)])];
  }
  double embedding_width() const { return embedding > 0 ? embedding : hidden; }
  double table_parameters() const { return vocabulary * embedding_width(); }
  // Whether it has an embedding and a head; measured layers are all of a model.
  bool has_tables() const { return vocabulary > 0; }
  bool has_measured_layers() const;

  // Adds a layer; equal ones share a kind.
  void add(layer const& l);

  bool trains_embedding() const { return !frozen.embedding && !(is_tied && frozen.head); }
  bool trains_head() const { return !frozen.head && !(is_tied && frozen.embedding); }
  bool freezes_any() const { return !(frozen == frozen_parts{}); }
  // The first layer that trains; 0 if the embedding does, layer_count() if neither does.
  int first_trained() const;
  gradient_kind gradients_of(int layer, int first_trained) const;

  bool has_experts() const;
  bool has_state_space() const;
  bool has_encoder() const;
};

// The measurements of a layer on this number of tensor ranks of this kind of device; or null.
measured_layer const* measured_on(layer const& l, int tensor, std::string const& device);

// The model with the slower of each layer's measurements on any of these kinds, as of devices that wait
// for each other.
architecture slowest_measured(architecture a, std::vector<std::string> const& devices);

// Parameters of one layer's parts, undivided. Matrices are the operands of products.
double mixer_matrices(architecture const& a, mixer const& m);
double dense_matrices(architecture const& a, feed_forward const& f, double width);
double expert_parameters(architecture const& a, feed_forward const& f, double count);
double beside_expert_matrices(architecture const& a, feed_forward const& f);

// Counts this many of its routed experts.
double layer_matrices(architecture const& a, layer const& l, double experts);

// A matrix that may have an adapter: A has rank x `in` parameters, B has `out` x rank.
struct adapted_matrix {
  double in = 0, out = 0;
};

// The matrices in a part of a layer that are among these, undivided; and those with adapters.
std::vector<adapted_matrix> matrices_of(architecture const& a, mixer const& m, adapted among);
std::vector<adapted_matrix> matrices_of(architecture const& a, feed_forward const& f, adapted among);
std::vector<adapted_matrix> adapted_matrices(architecture const& a, mixer const& m);
std::vector<adapted_matrix> adapted_matrices(architecture const& a, feed_forward const& f);

// Parameters of the adapters of one layer, and of the head's.
double adapter_parameters(architecture const& a, layer const& l);
double head_adapter_parameters(architecture const& a);

// Parameters of the predictors of further tokens, which published counts leave out.
double prediction_parameters(architecture const& a);

// All parameters, or those that a token meets. Exact: norms and biases count. They throw unpredictable
// for a layer of unknown kind.
double parameters(architecture const& a);
double active_parameters(architecture const& a);

// Parameters that are not frozen; with adapters theirs, which parameters() leaves out. Those beside the
// layers train with the head.
double trained_parameters(architecture const& a);

}  // namespace ashlar::cost
