// Activations that layers keep from their forward to their backward, and the share that is offloaded to
// the host.
#pragma once

#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/constants.hpp>

#include <vector>

namespace ashlar::cost {

// Bytes of an element of activations.
inline double value_bytes(number_format format) { return format == number_format::fp32 ? 4 : 2; }

// Bytes per token that a layer keeps from its forward to its backward on one device, without recomputed
// ones; under full recomputation, those while it is recomputed. If its weights do not train, inputs of
// products are not kept. `gathered`: a plain program keeps the inputs that it gathered from tensor
// ranks.
double kept_bytes(question const& q, layer const& l, recomputation again, bool trains, bool gathered,
                  constants const& c);

// The share of these bytes that offloaded `parts` of a layer hold. Gathered inputs stay.
double leaving_bytes(question const& q, layer const& l, recomputation again, bool trains,
                     offloaded parts, constants const& c);

// Bytes of one micro-batch, of one layer or of all layers of a stage.
struct kept_activations {
  double bytes = 0;    // on the device or the host
  double whole = 0;    // of the largest recomputed part, materialized at once
  double leaving = 0;  // the share of `bytes` that goes to the host
  double largest = 0;  // the most of `leaving` in one layer

  // Adds another layer of the stage.
  void add(kept_activations const& layer) {
    bytes += layer.bytes;
    leaving += layer.leaving;
    whole = layer.whole > whole ? layer.whole : whole;
    largest = layer.largest > largest ? layer.largest : largest;
  }
};

// Activations of one layer under this recomputation. `parts` are offloaded.
kept_activations kept_of_layer(question const& q, layer const& l, recomputation again,
                               gradient_kind takes, offloaded parts, bool gathered, constants const& c);

// Activations of each stage. `gathered`: see kept_bytes().
std::vector<kept_activations> kept_by_stage(question const& q, std::vector<stage> const& stages,
                                            bool gathered, constants const& c);

}  // namespace ashlar::cost
