// Costs once per step, after its passes: sums of gradients, gathers of weights, the optimizer.
#pragma once

#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/constants.hpp>
#include <ashlar/cost/step/held_parameters.hpp>

namespace ashlar::cost {

// Pass seconds of one device.
struct device_seconds {
  double all = 0;                    // of all micro-batches
  double forward = 0, backward = 0;  // of one
  double largest = 0;                // chunk, both ways
};

struct once_a_step {
  double data = 0, optimizer = 0;  // seconds
};

// `held`: the trained parameters of one device. `beside`: the passes that hide the exchanges. `copies`
// of a stage are on different devices of a pipeline.
once_a_step once_on(question const& q, parameter_counts const& held, device_seconds const& beside,
                    int copies, constants const& c);

}  // namespace ashlar::cost
