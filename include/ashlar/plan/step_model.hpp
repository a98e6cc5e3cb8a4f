// Seconds and bytes of each stage of a transformer on a cluster of devices that are all alike.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/plan/layout.hpp>
#include <ashlar/plan/partition.hpp>
#include <ashlar/plan/simulated_step.hpp>
#include <ashlar/plan/transformer.hpp>
#include <ashlar/plan/transformer_memory.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Figures of one device, from its data sheet.
struct device_machine {
  double flops = 0;    // a second, of 16-bit products
  double inside = 0;   // bytes a second in each direction to devices of its node
  double between = 0;  // to other nodes
  double memory = 0;   // bytes
  int node_size = 8;
};

// How far from the data sheet: seconds for each second at its figures. 1: at peak.
struct step_constants {
  double products = 1;  // of matrices
  double exchange = 1;  // between tensor ranks, with all that moves as many bytes in memory
};

// Layers of each stage, and whether the head's products count as work of the last.
struct stage_division {
  std::vector<int> layers;
  bool with_head = true;
};

// Products of the forward of one layer: twice a parameter and token, and 4 h s a token for scores and
// their use.
struct layer_products {
  double matrices = 0, scores = 0;  // operations of one tensor rank
};
constexpr layer_products products_of(transformer const& t, training_layout const& l) {
  double const tokens = l.micro_batch * t.sequence;
  return {2 * tokens * t.active_layer_parameters() / l.tensor,
          4 * tokens * t.hidden * t.sequence / l.tensor};
}

// Bytes that a tensor rank moves in the forward of one layer: two sums of its output over the ranks,
// each 2 (t - 1) / t of it at 16 bits; with sequence parallelism as gathers and scatters. The backward
// moves as many.
constexpr double exchanged_bytes(transformer const& t, training_layout const& l) {
  return 2 * (2.0 * (l.tensor - 1) / l.tensor) * 2 * t.hidden * l.micro_batch * t.sequence;
}

// Bytes of a parameter that a data rank moves to sum gradients of 32 bits in a ring, or to scatter them
// and gather weights of 16 bits if the optimizer is shared.
constexpr double reduced_bytes(int data, bool sharded) {
  return (sharded ? 6.0 : 8.0) * (data - 1) / data;
}

// Of one micro-batch.
struct pass_seconds {
  double forward = 0;
  double backward = 0;  // with what it runs again

  constexpr double both() const { return forward + backward; }
};

// Of one layer: a backward does the forward's products twice, and again what is recomputed.
constexpr pass_seconds layer_seconds(transformer const& t, training_layout const& l,
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

// Of the head's products.
constexpr pass_seconds head_seconds(transformer const& t, training_layout const& l,
                                    device_machine const& machine, step_constants const& constants) {
  double const tokens = l.micro_batch * t.sequence;
  double const head =
      constants.products / machine.flops * 2 * tokens * t.embedding_parameters() / l.tensor;
  return {head, 2 * head};
}

// The link that messages and sums of gradients take: between nodes as soon as there are several.
constexpr double outer_link(training_layout const& l, device_machine const& machine) {
  return l.tensor * l.data * l.pipeline > machine.node_size ? machine.between : machine.inside;
}

// Times of each stage. Each tensor rank sends its share of the output.
constexpr std::vector<stage_seconds> stage_times(transformer const& t, training_layout const& l,
                                                 bool sharded, stage_division const& division,
                                                 device_machine const& machine,
                                                 step_constants const& constants) {
  pass_seconds const layer = layer_seconds(t, l, machine, constants),
                     head = head_seconds(t, l, machine, constants);
  double const tokens = l.micro_batch * t.sequence, link = outer_link(l, machine);
  std::vector<stage_seconds> made;
  std::size_t const count = division.layers.size();
  for (std::size_t i = 0; i < count; ++i) {
    double const layers = division.layers[i];
    bool const embeds = i == 0 || i + 1 == count;
    stage_seconds s{.forward = layers * layer.forward, .backward = layers * layer.backward};
    if (division.with_head && i + 1 == count) {
      s.forward += head.forward;
      s.backward += head.backward;
    }
    if (i + 1 < count) s.send = 2 * t.hidden * tokens / l.tensor / link;
    double const parameters =
        (layers * t.layer_parameters() + (embeds && division.with_head ? t.embedding_parameters() : 0))
        / l.tensor;
    if (l.data > 1) s.reduction = parameters * reduced_bytes(l.data, sharded) / link;
    made.push_back(s);
  }
  return made;
}

// Bytes of each stage on one device. The logits, their gradient and the loss take 6 bytes a value on the
// last stage; with full recomputation one layer is whole at a time.
constexpr memory_model stage_bytes(transformer const& t, training_layout const& l, bool sharded,
                                   stage_division const& division, kept_widths const& widths) {
  split_layer const layer{t.hidden, t.active_feed_forward(), t.heads, t.sequence,
                          l.tensor, l.sequence_parallel};
  double const kept = kept_bytes(layer, l.micro_batch, l.again, widths);
  double const whole =
      l.again == recomputation::full ? kept_bytes(layer, l.micro_batch, recomputation::none, widths) : 0;
  parameter_bytes const each;
  memory_model made;
  std::size_t const count = division.layers.size();
  made.stages.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    double const layers = division.layers[i];
    double embeddings = 0;
    if (division.with_head)
      embeddings = (i == 0 ? 1 : 0) + (i + 1 == count && (count > 1 ? true : !t.tied) ? 1 : 0);
    double const parameters =
        (layers * t.layer_parameters() + embeddings * t.embedding_parameters()) / l.tensor;
    double const logits = division.with_head && i + 1 == count
                              ? 6 * t.vocabulary * l.micro_batch * t.sequence / l.tensor
                              : 0;
    stage_memory& m = made.stages[i];
    m.weights = static_cast<byte_count>(each.weight * parameters + logits + whole);
    m.weight_gradient = static_cast<byte_count>(each.gradient * parameters);
    m.optimizer_state = static_cast<byte_count>(each.optimizer * parameters / (sharded ? l.data : 1));
    m.stash = static_cast<byte_count>(layers * kept);
  }
  return made;
}

}  // namespace ashlar
