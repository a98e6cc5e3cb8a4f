// Seconds of the forward and the backward of a layer and of the head, by cause.
#pragma once

#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/constants.hpp>
#include <ashlar/cost/step/work.hpp>

namespace ashlar::cost {

// Seconds of one pass, by cause.
struct pass_terms {
  double products = 0, attention = 0, scan = 0, bytes = 0;  // on the device
  double tensor = 0, expert = 0, context = 0;               // exchanges, exposed
  double sharding = 0;  // weights and gradients of a fully sharded model, exposed
  double offload = 0;   // copies to the host or back, exposed
  double transfer = 0;  // to the next stage, exposed
  double host = 0;      // the host's time to launch all of it
  double weights = 0;   // the share of `products` for gradients of weights
  double measured = 0;  // replaces all but the transfer

  // Seconds that the device takes if the host keeps up.
  double on_device() const {
    return products + attention + scan + bytes + tensor + expert + context + measured;
  }
  double launched() const { return host > on_device() ? host : on_device(); }
  double seconds() const { return launched() + sharding + offload + transfer; }

  // Adds all terms but sharding, copies and transfer, which belong to a whole pass.
  void add(pass_terms const& other, double times = 1);
  void leave_out_weights();
};

// Both passes of a stage.
struct stage_passes {
  pass_terms forward, backward;

  double seconds() const { return forward.seconds() + backward.seconds(); }

  // A backward in two passes: gradients of weights take their share by the device's time, gradients of
  // inputs the rest.
  double weight_seconds() const {
    double const all = backward.on_device();
    return all > 0 ? backward.launched() * backward.weights / all : 0;
  }
  double input_seconds() const { return backward.seconds() - weight_seconds(); }
};

// Passes of this work of a layer, all of whose parameters train.
stage_passes passes_of_work(question const& q, layer const& l, layer_work const& w, constants const& c);

// Passes of one layer under this recomputation and these gradients.
stage_passes passes_of_layer(question const& q, layer const& l, recomputation again, gradient_kind takes,
                             constants const& c);

// Passes of the head and the loss: the product in 16 bits, loss_bytes per logit, one exchange of the
// input.
stage_passes passes_of_head(question const& q, constants const& c);

}  // namespace ashlar::cost
