// The layers of a model: a mixer, perhaps attention to another part's tokens, and a feed-forward part.
#pragma once

#include <ashlar/core/language.hpp>

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
  // Keys that an indexer chooses for a query, whose heads then meet the compressed ones; 0: all. Layers
  // without heads of the indexer take the choice of a layer before them.
  double chosen = 0, index_heads = 0, index_head = 0;

  double inner = 0;  // channels of a state-space layer
  double keys = 0;   // groups x state, of keys as of queries; 0: a channel's state is one number
  double steps = 0;  // columns for step sizes and decays
  double rank = 0;   // rank of Mamba-1, which makes keys and steps from its channels

  double beside = 0;             // parameters of norms, biases and convolutions
  double norms = 0, biases = 0;  // of these; biases of norms are in both

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

  double beside = 0;             // parameters of norms, biases and gates
  double norms = 0, biases = 0;  // of these, without those of experts; biases of norms are in both
  double beside_expert = 0;      // biases of one expert

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
  mixer cross = {};  // attention to what the last tower made, behind the mixer
  feed_forward feed = {};
  std::vector<measured_layer> measured = {};  // by tensor ranks and kind of device; empty: formulas hold

  friend bool operator==(layer const&, layer const&) = default;
};

}  // namespace ashlar::cost
