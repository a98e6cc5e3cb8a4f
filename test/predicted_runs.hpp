// Runs to predict: a machine and constants of round figures, small models, and random questions.
#pragma once

#include "random.hpp"
#include <ashlar/cost/step/answer.hpp>

namespace ashlar::cost::testing {

// Figures like those of an H100.
inline machine hopper() {
  return {.built = generation::hopper,
          .peak = {.fp32 = 60e12, .tf32 = 500e12, .fp16 = 1000e12, .bf16 = 1000e12, .fp8 = 2000e12},
          .memory_bytes = 80e9,
          .memory_bandwidth = 3e12,
          .inside = 400e9,
          .outside = 50e9,
          .domain = 8,
          .per_node = 8,
          .units = 132,
          .exponentials = 4e12,
          .power = 700,
          .is_measured = true};
}

// The machine with the figures of its host.
inline machine hopper_with_host() {
  machine m = hopper();
  m.host = {.link = 50e9, .memory_bytes = 250e9, .memory_bandwidth = 75e9};
  return m;
}

inline constants round_constants() {
  constants c;
  for (named_constant const& each : constant_names) c.*each.value = 0.5;
  c.power = 0.6;
  c.wave = 0.4;
  c.scan_bytes = 60;
  c.loss_bytes = 36;
  c.latency = 3e-5;
  c.straggler = 0.005;
  c.host = 6e-4;
  c.host_tensor = 5e-4;
  c.host_expert = 2e-3;
  c.host_each_expert = 1e-4;
  c.host_update = 4e-3;
  c.kept_plain = 10;
  c.logit_bytes = 6.5;
  c.logit_bytes_plain = 9;
  c.framework_bytes = 2e8;
  c.outside_bytes = 3e9;
  return c;
}

inline mixer attends(double heads, double groups, double head) {
  return {.kind = mixer_kind::attention, .heads = heads, .groups = groups, .head = head};
}

inline architecture dense_model(int layers, double hidden = 1024) {
  architecture a;
  a.hidden = hidden;
  a.vocabulary = 32000;
  layer const l{.mix = attends(hidden / 64, hidden / 128, 64),
                .feed = {.kind = feed_forward_kind::dense, .is_gated = true, .width = 4 * hidden}};
  for (int i = 0; i < layers; ++i) a.add(l);
  a.predictor = l;
  return a;
}

inline architecture routed_model(int layers) {
  architecture a = dense_model(1, 1024);
  layer l = a.kinds[0];
  l.feed = {.kind = feed_forward_kind::experts,
            .is_gated = true,
            .experts = 16,
            .chosen = 2,
            .expert_width = 512,
            .shared_width = 512};
  for (int i = 1; i < layers; ++i) a.add(l);
  a.predictor = l;
  return a;
}

inline architecture scanned_model(int layers) {
  architecture a = dense_model(1, 1024);
  layer l;
  l.mix = {.kind = mixer_kind::state_space, .inner = 2048, .keys = 256, .steps = 32};
  l.feed = a.kinds[0].feed;
  for (int i = 1; i < layers; ++i) a.add(l);
  return a;
}

// Asks about the model on `nodes` nodes of eight.
inline question asked(architecture model, int nodes = 1) {
  question q;
  q.model = std::move(model);
  q.cluster.device() = hopper();
  q.cluster.kinds.front().devices = 8 * nodes;
  q.sequence = 2048;
  q.batch = 64;
  q.layout.data = q.cluster.device_count();
  return q;
}

// A question that check() has nothing against.
inline question random_question(random_case::dice& roll) {
  for (;;) {
    int const kind = roll.between(0, 3), layers = roll.between(1, 24);
    question q;
    q.model = kind == 0   ? routed_model(layers)
              : kind == 1 ? scanned_model(layers)
                          : dense_model(layers, kind == 2 ? 1024 : 4096);
    q.cluster.device() = hopper();
    constexpr generation built[] = {generation::ampere, generation::hopper, generation::blackwell,
                                    generation::blackwell_ultra, generation::cdna3};
    q.cluster.device().built = built[roll.between(0, 4)];
    if (is_blackwell(q.cluster.device())) q.cluster.device().peak.fp4 = 4000e12;
    q.cluster.device().power = roll.percent(50) ? 500 : 700;
    q.cluster.device().domain = roll.percent(25) ? 72 : 8;
    q.layout.tensor = 1 << roll.between(0, 4);
    q.layout.pipeline = 1 << roll.between(0, 3);
    if (q.layout.pipeline > 1) q.layout.chunks = roll.between(1, 3);
    q.layout.context = 1 << roll.between(0, 1);
    q.layout.data = 1 << roll.between(0, 6);
    q.cluster.kinds.front().devices =
        q.layout.tensor * q.layout.pipeline * q.layout.context * q.layout.data;
    q.cluster.device().per_node = roll.percent(50) ? 8 : 4;
    if (q.model.has_experts()) {
      q.layout.expert = 1 << roll.between(0, 4);
      q.layout.expert_tensor = roll.between(1, 2);
    }
    q.sequence = 512 << roll.between(0, 6);
    q.layout.micro_batch = 1 << roll.between(0, 2);
    q.batch = q.layout.micro_batch * q.layout.data * q.layout.pipeline * roll.between(1, 16);
    if (q.layout.pipeline == 1 && roll.percent(40))
      q.layout.sharding = roll.percent(70) ? sharding::full : sharding::gradients;
    else if (roll.percent(70))
      q.layout.sharding = sharding::optimizer;
    constexpr recomputation usual[] = {recomputation::none, recomputation::attention,
                                       recomputation::full};
    q.layout.recompute = usual[roll.between(0, 2)];
    q.program.format = static_cast<number_format>(roll.between(0, 5));
    if (roll.percent(30)) {
      q.cluster.device().host = hopper_with_host().host;
      q.layout.offload.parts = static_cast<offloaded>(roll.between(0, 255));
      if (roll.percent(50)) q.layout.offload.in.first = roll.between(1, 4);
      q.layout.offload.optimizer = roll.percent(50);
    }
    try {
      check(q);
      return q;
    } catch (unpredictable const&) {  // sizes that do not go together
    }
  }
}

inline double step_seconds(question const& q, constants const& c) {
  return step_of(q, stages_of(q), c).seconds;
}

}  // namespace ashlar::cost::testing
