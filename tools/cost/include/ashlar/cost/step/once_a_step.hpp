// Costs once per step, after its passes: sums of gradients, gathers of weights, the optimizer.
#pragma once

#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/constants.hpp>
#include <ashlar/cost/step/held_parameters.hpp>

#include <vector>

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

// `held`: the trained parameters of one device, which Adam updates. `beside`: the passes that hide the
// exchanges. `copies` of a stage are on different devices of a pipeline.
once_a_step once_on(question const& q, parameter_counts const& held, device_seconds const& beside,
                    int copies, constants const& c);

// Counts the run's optimizer, for what one device holds: the parts of `stages` with these numbers.
// Another optimizer than Adam moves its own state; a matrix that Muon makes orthogonal takes three
// products in 16 bits in each of five rounds (Jordan et al. 2024), on one of the ranks that share it, or
// on each. Singular vectors, random numbers and what ranks send each other for it are not counted.
once_a_step once_by_stages(question const& q, held_parameters const& held,
                           std::vector<stage> const& stages, std::vector<int> const& numbers,
                           device_seconds const& beside, int copies, constants const& c);

}  // namespace ashlar::cost
