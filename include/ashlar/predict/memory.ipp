// Definitions of memory.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/predict/held_parameters.hpp>
#include <ashlar/predict/memory.hpp>
#include <ashlar/predict/stack.hpp>
#include <ashlar/predict/stage_devices.hpp>

#include <cstddef>

namespace ashlar::predict {

namespace memory_detail {

// What a layer keeps, a token.
class keeper {
 public:
  explicit keeper(question const& q)
      : q_(q),
        stack_(stack_of(q)),
        value_(q.format == number_format::fp32 ? 4 : 2),
        input_(is_low(q.format) ? 1 : value_),
        tensor_(q.tensor) {}

  double value_bytes() const { return value_; }

  // Where the sequence is split, each token of a norm is on one tensor rank.
  double split() const { return stack_.splits_sequences ? tensor_ : 1; }

  // Where weights are frozen, inputs of products are not kept (`trains`).
  double of(mixer const& m, recomputation again, bool trains) const {
    if (m.kind == mixer_kind::none) return 0;
    double kept = norm(again, trains);
    if (m.kind == mixer_kind::attention) {  // queries, keys, values, result, sum of each row
      double const gate = m.has_gate ? m.heads : 0;
      kept += value_ * (2 * m.heads + gate + 2 * m.groups) * m.head / tensor_ + 4 * m.heads / tensor_;
      // Softmax, mask, and what dropout leaves (Korthikanti et al. 2022).
      if (stack_.writes_scores && !has(again, recomputation::attention | recomputation::full))
        kept += 5 * m.heads / tensor_ * q_.sequence;
    } else if (m.kind == mixer_kind::compressed) {
      kept += ((trains ? input_ : 0) + value_) * (m.q_rank + m.kv_rank) + value_ * m.rope;
      // Queries, keys, values; the result.
      double const made = 2 * (m.nope + m.rope) + m.value_head;
      kept += value_ * m.heads * (m.value_head + (has(again, recomputation::up_projections) ? 0 : made))
              / tensor_;
    } else {
      kept += value_ * (5 * m.inner + 4 * m.keys) / tensor_;
    }
    return kept;
  }

  double of(feed_forward const& f, recomputation again, bool trains) const {
    if (f.kind == feed_forward_kind::none) return 0;
    double const kept = norm(again, trains);
    if (f.kind == feed_forward_kind::dense)
      return kept + (has(again, recomputation::dense) ? 0 : dense(f, f.width, trains) / tensor_);
    if (has(again, recomputation::experts)) return kept;
    // Routed copies of the input, and what the experts keep of each.
    double const copies = f.chosen / tensor_ * q_.expert_tensor;
    double const in = f.latent > 0 ? f.latent : q_.model.hidden;
    double const routed =
        dense(f, f.expert_width / q_.expert_tensor, trains && !has(again, recomputation::activation));
    double const shared =
        has(again, recomputation::shared_expert) ? 0 : dense(f, f.shared_width, trains);
    return kept + copies * ((trains ? input_ * in : 0) + routed) + shared / tensor_
           + 4 * f.experts / tensor_;
  }

 private:
  // A norm's input and its result.
  double norm(recomputation again, bool trains) const {
    double const result = !trains || has(again, recomputation::norms) ? 0 : input_;
    return (value_ + result) * q_.model.hidden / split();
  }

  // Results of the first product and of the activation. A compiled sharded program makes the latter
  // again; a plain one keeps SiLU too.
  double dense(feed_forward const& f, double width, bool keeps_activation) const {
    double const first = (f.is_gated ? 2 : 1) * value_ * width;
    if (!keeps_activation || (f.is_gated && stack_.is_sharded)) return first;
    return first + input_ * width + (f.is_gated && stack_.is_plain ? value_ * width : 0);
  }

  question const& q_;
  stack stack_;
  double value_, input_, tensor_;
};

// Weights held in 8 bits need a transposed copy on Hopper, none on Blackwell.
inline double parameter_bytes(question const& q, stack const& s, double value) {
  return q.format == number_format::fp8 && is_blackwell(q.device) && !s.is_sharded ? 1 : value;
}

// Sums in 32 bits; in the format of the values where products are in 8 or 4 bits, as in NVIDIA's
// recipes; a plain program has both.
inline double gradient_bytes(question const& q, stack const& s, double value) {
  if (s.is_plain) return value < 4 ? 6 : 4;
  return is_low(q.format) && s.is_tuned ? 2 : 4;
}

// A logit: 16 bits and a softmax in 32 in place (Megatron), more copies (plain), fused (recipes of
// FSDP).
inline double logit_bytes(question const& q, stack const& s, constants const& c) {
  if (s.is_plain) return c.logit_bytes_plain;
  return s.is_sharded && q.again == recomputation::none ? 4 : c.logit_bytes;
}

// `copies` of a stage are on different devices of a pipeline, and share what data ranks do. Where
// gradients are shared beside a pipeline, those of one stage are summed while those of another leave.
inline void add_parameters(question const& q, stage_needs const& needs, int copies, memory_parts& part) {
  stack const s = stack_of(q);
  held_parameters const& held = needs.held;
  double const value = keeper(q).value_bytes(), ranks = 1.0 * q.data * q.context * copies;
  if (!s.is_sharded) {
    bool const splits = q.shares != sharding::none;
    double const moments = value < 4 ? 12 : 8;  // with 32-bit weights where the values have fewer
    part.parameters = parameter_bytes(q, s, value) * held.all.both();
    part.gradients = gradient_bytes(q, s, value) * held.trained.both();
    if (s.sums_in_shards) {
      double const shards = held.trained.dense / ranks + held.trained.expert / (expert_data(q) * copies);
      part.gradients = min_of(part.gradients, gradient_bytes(q, s, value) * (shards + 2 * needs.summed));
    }
    part.optimizer = moments
                     * (held.trained.dense / (splits ? ranks : 1)
                        + held.trained.expert / (splits ? expert_data(q) * copies : 1));
    return;
  }
  part.parameters = 4 * held.all.both() / ranks;
  part.gradients = 4 * held.trained.both() / ranks;
  part.optimizer = 8 * held.trained.both() / ranks;
  double largest = 0;  // layer
  for (layer const& l : q.model.kinds)
    largest = max_of(largest, layer_matrices(q.model, l, l.feed.experts));
  largest /= q.tensor;
  // Weights and gradients of two layers.
  part.gathered = q.shares == sharding::gradients ? 2 * held.all.both() + 4 * largest : 8 * largest;
}

// Of a micro-batch.
struct kept_activations {
  double bytes = 0;
  double whole = 0;  // of the largest part that is run again, which is whole at a time

  void add(kept_activations const& layer, double times = 1) {
    bytes += times * layer.bytes;
    whole = max_of(whole, layer.whole);
  }
};

inline kept_activations kept_by_layer(question const& q, layer const& l, recomputation again,
                                      gradient_kind takes, bool gathered, constants const& c) {
  if (takes == gradient_kind::none) return {};
  bool const trains = takes == gradient_kind::all;
  keeper const keep(q);
  double const tokens = micro_batch_tokens(q),
               bytes = kept_bytes(q, l, again, trains, gathered, c) * tokens;
  if (has(again, recomputation::full))
    return {keep.value_bytes() * q.model.hidden * tokens / keep.split(), bytes};
  // Scores of one layer are next to nothing.
  recomputation const scores =
      has(again, recomputation::attention) ? recomputation::attention : recomputation::none;
  return {bytes, kept_bytes(q, l, scores, trains, gathered, c) * tokens - bytes};
}

inline std::vector<memory_parts> memory_with(question const& q, std::vector<stage> const& stages,
                                             execution const& run, bool gathered, constants const& c) {
  std::vector<stage_needs> const needs = needs_of(q, stages, gathered, c);
  std::vector<double> kept;
  for (stage_needs const& each : needs) kept.push_back(each.kept);
  placement const where = placement_of(q);
  std::vector<std::vector<int>> const here = stages_by_device(where);
  std::vector<double> const held = run.is_empty() ? std::vector<double>() : run.held(kept);
  std::vector<memory_parts> devices;
  for (std::size_t d = 0; d < here.size(); ++d) {
    stage_needs all;
    for (int number : here[d]) all.add(needs[static_cast<std::size_t>(number)]);
    double activations = 0;
    if (run.is_empty()) {
      std::vector<int> const times = in_flight(q, static_cast<int>(d));
      for (std::size_t chunk = 0; chunk < times.size(); ++chunk)
        activations += times[chunk] * kept[static_cast<std::size_t>(here[d][chunk])];
    } else {
      activations = held[d];
    }
    devices.push_back(memory_of_device(q, all, activations, where.route_count(), c));
  }
  return devices;
}

}  // namespace memory_detail

ASHLAR_INLINE void stage_needs::add(stage_needs const& other) {
  held.all.add(other.held.all);
  held.trained.add(other.held.trained);
  held.backward.add(other.held.backward);
  summed = max_of(summed, other.summed);
  kept += other.kept;
  whole = max_of(whole, other.whole);
  logits += other.logits;
}

ASHLAR_INLINE std::vector<stage_needs> needs_of(question const& q, std::vector<stage> const& stages,
                                                bool gathered, constants const& c) {
  using memory_detail::kept_activations;
  int const first_trained = q.model.first_trained();
  std::vector<kept_activations> of_kind;  // for each, whether it runs again and what gradients it takes
  for (layer const& l : q.model.kinds)
    for (recomputation again : {recomputation::none, q.again})
      for (gradient_kind takes : {gradient_kind::all, gradient_kind::inputs, gradient_kind::none})
        of_kind.push_back(memory_detail::kept_by_layer(q, l, again, takes, gathered, c));
  kept_activations const predictor = memory_detail::kept_by_layer(
      q, q.model.predictor, q.again_of_predictor(), gradient_kind::all, gathered, c);
  double const logits =
      memory_detail::logit_bytes(q, stack_of(q), c) * micro_batch_tokens(q) * padded_vocabulary(q);
  std::vector<stage_needs> all;
  for (stage const& s : stages) {
    kept_activations here;
    for (int i = s.first; i < s.first + s.count; ++i) {
      auto const kind = static_cast<std::size_t>(q.model.layers[static_cast<std::size_t>(i)]);
      auto const takes = static_cast<std::size_t>(q.model.gradients_of(i, first_trained));
      here.add(of_kind[6 * kind + (q.again_in.have(i, s.first) ? 3 : 0) + takes]);
    }
    if (s.predictions > 0) here.add(predictor, s.predictions);
    held_parameters const held = held_by_stage(q, s);
    all.push_back({.held = held,
                   .summed = held.trained.both(),
                   .kept = here.bytes,
                   .whole = here.whole,
                   .logits = s.has_head ? logits / q.tensor * (1 + s.predictions) : 0});
  }
  return all;
}

ASHLAR_INLINE memory_parts memory_of_device(question const& q, stage_needs const& all,
                                            double activations, int copies, constants const& c) {
  memory_parts part;
  memory_detail::add_parameters(q, all, copies, part);
  part.activations = activations + all.whole;
  part.logits = all.logits;
  part.framework = c.framework_bytes;
  return part;
}

ASHLAR_INLINE std::vector<int> in_flight(question const& q, int device) {
  int const p = q.pipeline, v = q.chunks, n = micro_batches(q);
  if (v == 1) return std::vector<int>(1, min_of(n, p - device));
  std::vector<int> held(static_cast<std::size_t>(v));
  long long left = min_of(1LL * n * v, 2LL * (p - device - 1) + (v - 1LL) * p + 1);
  for (std::size_t chunk = 0; left > 0; ++chunk, left -= p)
    held[chunk % held.size()] += static_cast<int>(min_of<long long>(p, left));
  return held;
}

ASHLAR_INLINE double kept_bytes(question const& q, layer const& l, recomputation again, bool trains,
                                bool gathered, constants const& c) {
  memory_detail::keeper const keep(q);
  stack const s = stack_of(q);
  double const h = q.model.hidden, t = q.tensor;
  double kept = keep.of(l.mix, again, trains) + keep.of(l.feed, again, trains);
  if (s.is_classic) kept += 2 * h / keep.split();  // masks of dropout
  if (s.is_plain) kept += c.kept_plain * h / t;
  if (s.is_plain && gathered && trains) kept += 4 * h * (t - 1) / t;  // inputs of two products
  return kept;
}

ASHLAR_INLINE std::vector<memory_parts> memory_of(question const& q, std::vector<stage> const& stages,
                                                  constants const& c, execution const& run) {
  if (stack_of(q).is_plain && q.tensor > 1 && q.pipeline == 1) {
    std::vector<memory_parts> devices = memory_detail::memory_with(q, stages, run, true, c);
    if (fits(q, peak_bytes(devices), c)) return devices;
  }
  return memory_detail::memory_with(q, stages, run, false, c);
}

ASHLAR_INLINE std::vector<memory_parts> memory_of(question const& q, std::vector<stage> const& stages,
                                                  constants const& c) {
  if (!q.is_executed()) return memory_of(q, stages, c, {});
  return memory_of(q, stages, c, execute(q, stages, passes_of(q, stages, c), c));
}

ASHLAR_INLINE double peak_bytes(std::vector<memory_parts> const& devices) {
  double most = 0;
  for (memory_parts const& d : devices) most = max_of(most, d.all());
  return most;
}

}  // namespace ashlar::predict
