// A decoder as a list of layers, each with its mixer and its feed-forward part.
#pragma once

#include <ashlar/core/language.hpp>
#include <ashlar/cost/model/adapters.hpp>
#include <ashlar/cost/model/optimizer.hpp>
#include <ashlar/cost/model/tower.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace ashlar::cost {

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

// Parameters of a kind that alone are updated: those of norms, or biases, also of norms (BitFit, Zaken
// et al. 2022).
enum class updated_alone : unsigned char { none, norms, biases };

// The gradients that a backward takes in a layer: all; of inputs alone, because its parameters are
// frozen; or none, because nothing before it trains either.
enum class gradient_kind : unsigned char { all, inputs, none };

// A decoder: its layers, embedding and head; and towers before it.
struct architecture {
  double hidden = 0;
  double vocabulary = 0;
  double embedding = 0;          // width of the embedding's rows; 0: hidden
  bool is_tied = false;          // the head has the embedding's weights
  double outputs = -1;           // rows of a head of its own, as a reward model's; -1: logits
  double beside = 0;             // positions, norms before and after the layers, bias of the head
  double norms = 0, biases = 0;  // of these; biases of norms are in both

  std::vector<layer> kinds;  // distinct ones
  std::vector<int> layers;   // the kind of each

  layer predictor;       // predicts further tokens
  int predictions = 0;   // number of further tokens
  bool repeats = false;  // one predictor is run again for each

  std::vector<tower> towers;  // in the order in which they run

  frozen_parts frozen;
  // Everything else is frozen, or has gradients that no optimizer takes.
  updated_alone alone = updated_alone::none;
  bool has_other_gradients = false;
  adapters lora;  // with these, everything else is frozen, but for tables that train beside them
  optimizer update;

  int layer_count() const { return static_cast<int>(layers.size()); }
  // The layer of this number, from 0.
  layer const& at(int number) const {
    return kinds[static_cast<unsigned>(layers[static_cast<unsigned>(number)])];
  }
  double embedding_width() const { return embedding > 0 ? embedding : hidden; }
  double table_parameters() const { return vocabulary * embedding_width(); }
  bool has_logits() const { return outputs < 0; }
  // Counts a head that is not tied.
  double head_parameters() const { return has_logits() ? table_parameters() : outputs * hidden; }
  // Whether it has an embedding and a head; measured layers are all of a model.
  bool has_tables() const { return vocabulary > 0; }
  bool has_measured_layers() const;

  // Adds a layer; equal ones share a kind.
  void add(layer const& l);

  bool trains_embedding() const { return !frozen.embedding && !(is_tied && frozen.head); }
  bool trains_head() const { return !frozen.head && !(is_tied && frozen.embedding); }
  bool freezes_any() const;
  // The first layer that trains; 0 if the embedding or a tower does, layer_count() if none does.
  int first_trained() const;
  gradient_kind gradients_of(int layer, int first_trained) const;
  // Whether some of its parameters, or adapters beside them, train.
  bool trains(tower const& t) const;
  // The gradients that the backward takes in a tower. Adapters' are those of inputs.
  gradient_kind gradients_of_tower(std::size_t number) const;
  // Whether what the tower reads needs gradients.
  bool has_gradients_before_tower(std::size_t number) const;

  bool has_experts() const;
  bool has_state_space() const;
  bool has_encoder() const;
  bool has_indexers() const;
  // The width of what the last tower made, to which layers may attend; 0: there is none.
  double cross_width() const { return towers.empty() ? 0 : towers.back().width(); }
  bool has_cross_attention() const;
};

// The measurements of a layer on this number of tensor ranks of this kind of device; or null.
measured_layer const* measured_on(layer const& l, int tensor, std::string const& device);

// The model with the slower of each layer's measurements on any of these kinds, as of devices that wait
// for each other.
architecture slowest_measured(architecture a, std::vector<std::string> const& devices);

// Throws unpredictable unless every layer, and every one of a tower, is of a known kind.
void must_know_layers(architecture const& a);

// Parameters of one layer's parts, undivided. Matrices are the operands of products.
double mixer_matrices(architecture const& a, mixer const& m);
double index_matrices(architecture const& a, mixer const& m);  // among them: those of its indexer
double dense_matrices(architecture const& a, feed_forward const& f, double width);
double expert_parameters(architecture const& a, feed_forward const& f, double count);
double beside_expert_matrices(architecture const& a, feed_forward const& f);

// Matrices of attention to what the last tower made: those of keys and values, and all.
double cross_key_matrices(architecture const& a, mixer const& m);
double cross_matrices(architecture const& a, mixer const& m);

// Counts this many of its routed experts.
double layer_matrices(architecture const& a, layer const& l, double experts);

// Parameters that alone are updated: of one expert of a layer, of the rest of it, and of what is beside
// the layers. 0 where all are.
double expert_updated_alone(architecture const& a, feed_forward const& f);
double layer_updated_alone(architecture const& a, layer const& l);
double beside_updated_alone(architecture const& a);

// Parameters of the predictors of further tokens, which published counts leave out.
double prediction_parameters(architecture const& a);

// All parameters, or those that a token meets. Exact: norms and biases count. They throw unpredictable
// for a layer of unknown kind.
double parameters(architecture const& a);
double active_parameters(architecture const& a);

// Parameters that are not frozen; with adapters theirs, which parameters() leaves out, and those of
// tables that train beside them. Those beside the layers train with the head.
double trained_parameters(architecture const& a);

}  // namespace ashlar::cost
