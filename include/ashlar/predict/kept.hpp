// What layers keep from their forward to their backward, and how much of it leaves for the host.
#pragma once

#include <ashlar/predict/constants.hpp>
#include <ashlar/predict/question.hpp>

#include <vector>

namespace ashlar::predict {

// Of an element of activations.
inline double value_bytes(question const& q) { return q.format == number_format::fp32 ? 4 : 2; }

// Bytes a token that a layer keeps from its forward to its backward on one device, without what is made
// again; of a whole layer that is, what it has while it is. Where its weights do not train, inputs of
// products are not kept. `gathered`: a plain program keeps the inputs that it has gathered from tensor
// ranks.
double kept_bytes(question const& q, layer const& l, recomputation again, bool trains, bool gathered,
                  constants const& c);

// Of these, what parts of a layer leave for the host. Gathered inputs stay.
double leaving_bytes(question const& q, layer const& l, recomputation again, bool trains,
                     offloaded parts, constants const& c);

// Bytes of one micro-batch, of one layer or of all layers of a stage.
struct kept_activations {
  double bytes = 0;    // wherever they are
  double whole = 0;    // of the largest part that is run again, which is whole at a time
  double leaving = 0;  // of `bytes`, for the host
  double largest = 0;  // of these, of one layer

  // Of another layer of the stage.
  void add(kept_activations const& layer) {
    bytes += layer.bytes;
    leaving += layer.leaving;
    whole = layer.whole > whole ? layer.whole : whole;
    largest = layer.largest > largest ? layer.largest : largest;
  }
};

// Of each stage. `gathered`: as of kept_bytes().
std::vector<kept_activations> kept_by_stage(question const& q, std::vector<stage> const& stages,
                                            bool gathered, constants const& c);

}  // namespace ashlar::predict

#ifndef ASHLAR_COMPILED
#include <ashlar/predict/kept.ipp>
#endif
