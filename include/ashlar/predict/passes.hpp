// Seconds of the forward and the backward of each virtual stage, by what takes them.
#pragma once

#include <ashlar/predict/constants.hpp>
#include <ashlar/predict/question.hpp>
#include <ashlar/predict/stage_layout.hpp>

#include <vector>

namespace ashlar::predict {

// Seconds of one pass, by what takes them.
struct pass_terms {
  double products = 0, attention = 0, scan = 0, bytes = 0;  // on the device
  double tensor = 0, expert = 0, context = 0;               // exchanges, exposed
  double sharding = 0;  // weights and gradients of a fully sharded model, exposed
  double offload = 0;   // copies to the host or back, exposed
  double transfer = 0;  // to the next stage, exposed
  double host = 0;      // that the host needs to launch it all
  double weights = 0;   // of products: of weights' gradients
  double measured = 0;  // in place of all but the transfer

  // Seconds that the device takes if the host keeps up.
  double on_device() const {
    return products + attention + scan + bytes + tensor + expert + context + measured;
  }
  double launched() const { return host > on_device() ? host : on_device(); }
  double seconds() const { return launched() + sharding + offload + transfer; }

  // Without sharding, copies and transfer, which are those of a whole pass.
  void add(pass_terms const& other, double times = 1);
  void leave_out_weights();
};

// Both passes of a stage.
struct stage_passes {
  pass_terms forward, backward;

  double seconds() const { return forward.seconds() + backward.seconds(); }

  // Of a backward in two passes: of weights' gradients, a share by the device's time; of inputs'
  // gradients the rest.
  double weight_seconds() const {
    double const all = backward.on_device();
    return all > 0 ? backward.launched() * backward.weights / all : 0;
  }
  double input_seconds() const { return backward.seconds() - weight_seconds(); }
};

// Of one layer, whose backward runs so much of its forward again and takes these gradients.
stage_passes passes_of_layer(question const& q, layer const& l, recomputation again, gradient_kind takes,
                             constants const& c);

// Of the head and the loss: the product in 16 bits, loss_bytes a logit, one exchange of the input.
stage_passes passes_of_head(question const& q, constants const& c);

// The passes of each virtual stage for one micro-batch.
std::vector<stage_passes> passes_of(question const& q, std::vector<stage> const& stages,
                                    constants const& c);

}  // namespace ashlar::predict

#ifndef ASHLAR_COMPILED
#include <ashlar/predict/passes.ipp>
#endif
