// Seconds and bytes of each stage of a transformer on a cluster.
#pragma once

#include "layout.hpp"
#include "quantities.hpp"
#include "sharded_parameters.hpp"
#include "simulated_step.hpp"
#include "transformer.hpp"
#include "transformer_memory.hpp"
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/model/memory_model.hpp>

#include <cstddef>
#include <vector>

namespace formulas {

using namespace ashlar;

// Figures of one device, from its data sheet.
struct device_machine {
  double flops = 0;    // per second, of products in the model's precision
  double inside = 0;   // bytes a second in each direction to devices of its node
  double between = 0;  // to other nodes
  double memory = 0;   // bytes
  int node_size = 8;
};

// Factors on the data sheet: actual seconds per second at its figures. 1: at peak.
struct step_constants {
  double products = 1;  // of matrices
  double exchange = 1;  // between tensor ranks, including memory traffic in proportion
};

// The link that messages and sums of gradients take: between nodes if the devices exceed one.
inline double outer_link(training_layout const& l, device_machine const& machine) {
  return l.tensor * l.data * l.pipeline > machine.node_size ? machine.between : machine.inside;
}

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
inline layer_products products_of(transformer const& t, training_layout const& l) {
  double const tokens = l.micro_batch * t.sequence;
  return {2 * tokens * t.active_layer_parameters() / l.tensor,
          4 * tokens * t.hidden * t.sequence / l.tensor};
}

// Bytes that a tensor rank moves in the forward of one layer: two sums of its output over the ranks,
// each 2 (t - 1) / t of it; with sequence parallelism as gathers and scatters. The backward moves as
// many.
inline double exchanged_bytes(transformer const& t, training_layout const& l) {
  return 2 * (2.0 * (l.tensor - 1) / l.tensor) * t.value_bytes * t.hidden * l.micro_batch * t.sequence;
}

// Seconds of one layer and micro-batch. A backward does the forward's products twice, plus
// recomputation.
inline pass_seconds layer_seconds(transformer const& t, training_layout const& l,
                                  device_machine const& machine, step_constants const& constants) {
  layer_products const p = products_of(t, l);
  double const exchange = constants.exchange * exchanged_bytes(t, l) / machine.inside;
  double const product = constants.products / machine.flops;
  double const forward = product * (p.matrices + p.scores) + exchange;
  double const again = l.again == recomputation::full        ? forward
                       : l.again == recomputation::attention ? product * p.scores
                                                             : 0;
  return {forward, 2 * product * (p.matrices + p.scores) + exchange + again};
}

// The share of causal attention in layer_seconds(): all work on scores.
inline pass_seconds attention_seconds(transformer const& t, training_layout const& l,
                                      device_machine const& machine, step_constants const& constants) {
  double const forward = constants.products / machine.flops * products_of(t, l).scores;
  return {forward, (l.again == recomputation::none ? 2 : 3) * forward};
}

// Seconds of the head's products.
inline pass_seconds head_seconds(transformer const& t, training_layout const& l,
                                 device_machine const& machine, step_constants const& constants) {
  double const tokens = l.micro_batch * t.sequence;
  double const head =
      constants.products / machine.flops * 2 * tokens * t.embedding_parameters() / l.tensor;
  return {head, 2 * head};
}

// Parameters of a stage on one tensor rank, and of the largest part of it that is gathered at once.
struct stage_parameters_here {
  double all = 0, largest = 0;
};
inline stage_parameters_here parameters_of(transformer const& t, training_layout const& l, int layers,
                                           double embeddings) {
  double const embedding = embeddings > 0 ? t.embedding_parameters() : 0;
  return {(layers * t.layer_parameters() + embeddings * embedding) / l.tensor,
          max_of(t.layer_parameters(), embedding) / l.tensor};
}

// Adds the seconds that moving a stage's parameters takes. If they are moved pass by pass, the first
// weights and the last gradients, of one layer, have no pass to hide behind.
inline void share_parameters(stage_seconds& s, stage_parameters_here const& here, double link,
                             parameter_sharing const& sharing, parameter_bytes const& each) {
  double const gathered = gathered_bytes(sharing, each) / link,
               scattered = scattered_bytes(sharing, each) / link;
  s.gather = here.all * gathered;
  s.scatter = here.all * scattered;
  s.reduction = here.all * reduced_bytes(sharing, each) / link
                + min_of(here.all, here.largest) * (gathered + scattered);
}

// The device and links of one stage.
struct stage_site {
  device_machine machine;
  step_constants constants;
  double link = 0;  // over which its data ranks sum
  double next = 0;  // to the next stage
};

// Times of each stage, one site for each. Each tensor rank sends its share of the output.
inline std::vector<stage_seconds> stage_times(transformer const& t, training_layout const& l,
                                              sharding_level level, stage_division const& division,
                                              std::vector<stage_site> const& sites) {
  double const tokens = l.micro_batch * t.sequence;
  std::vector<stage_seconds> made;
  std::size_t const count = division.layers.size();
  for (std::size_t i = 0; i < count; ++i) {
    stage_site const& at = sites[i];
    pass_seconds const layer = layer_seconds(t, l, at.machine, at.constants),
                       attention = attention_seconds(t, l, at.machine, at.constants);
    double const layers = division.layers[i];
    bool const embeds = i == 0 || i + 1 == count;
    stage_seconds s{.passes = layers * layer, .attention = layers * attention};
    if (division.with_head && i + 1 == count) s.passes += head_seconds(t, l, at.machine, at.constants);
    if (i + 1 < count) s.send = t.value_bytes * t.hidden * tokens / l.tensor / at.next;
    share_parameters(s, parameters_of(t, l, division.layers[i], embeds && division.with_head ? 1 : 0),
                     at.link, {level, l.data}, bytes_of_parameter(t.value_bytes));
    made.push_back(s);
  }
  return made;
}

// Times of each stage on identical devices.
inline std::vector<stage_seconds> stage_times(transformer const& t, training_layout const& l,
                                              sharding_level level, stage_division const& division,
                                              device_machine const& machine,
                                              step_constants const& constants) {
  double const link = outer_link(l, machine);
  std::vector<stage_site> const sites(division.layers.size(), {machine, constants, link, link});
  return stage_times(t, l, level, division, sites);
}

// Bytes of each stage on one device. The logits take a value's bytes on the last stage, their gradient
// and the loss 4; with full recomputation one layer is materialized at a time.
inline memory_model stage_bytes(transformer const& t, training_layout const& l, sharding_level level,
                                stage_division const& division, kept_widths const& widths) {
  split_layer const layer{t.hidden, t.active_feed_forward(), t.heads, t.sequence,
                          l.tensor, l.sequence_parallel};
  double const kept = kept_bytes(layer, l.micro_batch, l.again, widths);
  double const whole =
      l.again == recomputation::full ? kept_bytes(layer, l.micro_batch, recomputation::none, widths) : 0;
  memory_model made;
  std::size_t const count = division.layers.size();
  made.stages.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    double const layers = division.layers[i];
    double embeddings = 0;
    if (division.with_head)
      embeddings = (i == 0 ? 1 : 0) + (i + 1 == count && (count > 1 ? true : !t.tied) ? 1 : 0);
    double const logits =
        division.with_head && i + 1 == count
            ? (t.value_bytes + 4) * t.vocabulary * l.micro_batch * t.sequence / l.tensor
            : 0;
    stage_parameters_here const here = parameters_of(t, l, division.layers[i], embeddings);
    stage_memory& m = made.stages[i];
    m = kept_parameters(here.all, here.largest, bytes_of_parameter(t.value_bytes), {level, l.data});
    m.weights += whole_bytes(logits + whole);
    m.stash = whole_bytes(layers * kept);
  }
  return made;
}

}  // namespace formulas
