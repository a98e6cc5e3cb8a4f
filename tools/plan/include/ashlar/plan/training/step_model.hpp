// Seconds and bytes of each stage of a transformer on a cluster.
#pragma once

#include <ashlar/model/memory_model.hpp>
#include <ashlar/plan/training/device_kind.hpp>
#include <ashlar/plan/training/layout.hpp>
#include <ashlar/plan/training/sharded_parameters.hpp>
#include <ashlar/plan/training/simulated_step.hpp>
#include <ashlar/plan/training/transformer.hpp>
#include <ashlar/plan/training/transformer_memory.hpp>

#include <vector>

namespace ashlar {

// Layers of each stage, and whether the head counts as work of the last.
struct stage_division {
  std::vector<int> layers;
  bool with_head = true;
};

// Operations of the products in the forward of one layer: two per parameter and token, and 4 h s per
// token for scores and their use.
struct layer_products {
  double matrices = 0, scores = 0;  // operations of one tensor rank
};
layer_products products_of(transformer const& t, training_layout const& l);

// Bytes that a tensor rank moves in the forward of one layer: two sums of its output over the ranks,
// each 2 (t - 1) / t of it; with sequence parallelism as gathers and scatters. The backward moves as
// many.
inline double exchanged_bytes(transformer const& t, training_layout const& l) {
  return 2 * (2.0 * (l.tensor - 1) / l.tensor) * t.value_bytes * t.hidden * l.micro_batch * t.sequence;
}

// Seconds of one layer and micro-batch. A backward does the forward's products twice, plus
// recomputation.
pass_seconds layer_seconds(transformer const& t, training_layout const& l, device_machine const& machine,
                           step_constants const& constants);

// The share of causal attention in layer_seconds(): all work on scores.
inline pass_seconds attention_seconds(transformer const& t, training_layout const& l,
                                      device_machine const& machine, step_constants const& constants) {
  double const forward = constants.products / machine.flops * products_of(t, l).scores;
  return {forward, (l.again == recomputation::none ? 2 : 3) * forward};
}

// Seconds of the head's products.
pass_seconds head_seconds(transformer const& t, training_layout const& l, device_machine const& machine,
                          step_constants const& constants);

// Parameters of a stage on one tensor rank, and of the largest part of it that is gathered at once.
struct stage_parameters_here {
  double all = 0, largest = 0;
};
stage_parameters_here parameters_of(transformer const& t, training_layout const& l, int layers,
                                    double embeddings);

// Adds the seconds that moving a stage's parameters takes. If they are moved pass by pass, the first
// weights and the last gradients, of one layer, have no pass to hide behind.
void share_parameters(stage_seconds& s, stage_parameters_here const& here, double link,
                      parameter_sharing const& sharing, parameter_bytes const& each);

// The device and links of one stage.
struct stage_site {
  device_machine machine;
  step_constants constants;
  double link = 0;  // over which its data ranks sum
  double next = 0;  // to the next stage
};

// Times of each stage, one site for each. Each tensor rank sends its share of the output.
std::vector<stage_seconds> stage_times(transformer const& t, training_layout const& l,
                                       sharding_level level, stage_division const& division,
                                       std::vector<stage_site> const& sites);

// Times of each stage on identical devices.
std::vector<stage_seconds> stage_times(transformer const& t, training_layout const& l,
                                       sharding_level level, stage_division const& division,
                                       device_machine const& machine, step_constants const& constants);

// Bytes of each stage on one device. The logits take a value's bytes on the last stage, their gradient
// and the loss 4; with full recomputation one layer is materialized at a time.
memory_model stage_bytes(transformer const& t, training_layout const& l, sharding_level level,
                         stage_division const& division, kept_widths const& widths);

}  // namespace ashlar
