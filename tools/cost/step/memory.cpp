#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/model/adapted_matrices.hpp>
#include <ashlar/cost/model/tower_parameters.hpp>
#include <ashlar/cost/question/rank_questions.hpp>
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/question/teachers.hpp>
#include <ashlar/cost/step/held_parameters.hpp>
#include <ashlar/cost/step/memory.hpp>
#include <ashlar/cost/step/weight_shards.hpp>

#include <cstddef>

namespace ashlar::cost {

namespace memory_detail {

// 8-bit weights need a transposed copy on Hopper, none on Blackwell.
inline double parameter_bytes(question const& q, stack const& s, double value) {
  return q.program.format == number_format::fp8 && is_blackwell(q.cluster.device()) && !s.is_sharded
             ? 1
             : value;
}

// Sums are in 32 bits, but in the values' format if products are in 8 or 4 bits, as in NVIDIA's recipes.
// A plain program has both.
inline double gradient_bytes(question const& q, stack const& s, double value) {
  if (s.is_plain) return value < 4 ? 6 : 4;
  return is_low(q.program.format) && s.is_tuned ? 2 : 4;
}

// Bytes per logit: 16 bits and a 32-bit softmax in place (Megatron), more copies (plain). FSDP of
// PyTorch: by cross_entropy of `logits.float()`, in 8 chunks by torchtitan 0.3, or fused.
inline double logit_bytes(stack const& s, constants const& c) {
  if (s.is_plain) return c.logit_bytes_plain;
  bool const is_megatron = s.program == program_kind::recipe || s.program == program_kind::tuned
                           || s.program == program_kind::classic;
  if (is_megatron || !s.is_sharded) return c.logit_bytes;
  double const whole = 2 + 3 * 4;
  switch (s.facts.loss()) {
    case logits_held::fused:
      return 2 + 2;
    case logits_held::chunks:
      return whole / 8;
    default:
      return whole;
  }
}

// Bytes of a parameter that the host updates: its 32-bit weight, two moments and the gradient.
inline double host_bytes(fact_values const& facts) {
  return facts.main_bytes() + facts.moment_bytes() + 4;
}

// Bytes of the weights and gradients of two layers at work, fully sharded; with the shards of which the
// weights are gathered, if these come from the host.
inline double layers_at_work(question const& q, held_parameters const& held, double ranks) {
  double read = 0, summed = 0;  // of the largest layer
  for (tower const& t : q.model.towers)
    for (layer const& l : t.kinds) {
      architecture const own = architecture_of(q.model, t);
      double const matrices =
          2 * layer_matrices(own, l, l.feed.experts) / (t.is_undivided ? 1 : q.layout.tensor);
      read = max_of(read, matrices);
      summed = max_of(summed, q.model.trains(t) && !own.lora.are_any() ? matrices : 0);
    }
  for (layer const& l : q.model.kinds) {
    bool const packs = q.model.lora.pack();  // all but its adapters
    double const matrices =
        2 * (packs ? adapter_parameters(q.model, l) : layer_matrices(q.model, l, l.feed.experts))
        / q.layout.tensor;
    read = max_of(read, matrices + packed_in(q.model, l, q.layout.tensor).codes);
    summed = max_of(
        summed, q.model.alone == updated_alone::none ? matrices : 2 * layer_updated_alone(q.model, l));
  }
  if (q.layout.sharding == sharding::gradients) return held.gathered_bytes() + 2 * summed;
  if (q.layout.offload.weights != offloaded_weights::none)
    read *= 1 + (q.model.lora.pack() ? 1 : copied_weight_bytes(q) / 2) / ranks;
  return 2 * (read + summed);
}

// Moves the weights that leave, and what leaves with them, to the host.
inline void add_weights_on_host(question const& q, held_parameters const& held, double ranks,
                                memory_parts& part) {
  offloaded_weights const away = q.layout.offload.weights;
  if (away == offloaded_weights::none) return;
  double const updated = held.trained.both() / ranks, own = own_weight_bytes(q);
  if (away == offloaded_weights::own) {
    part.host = shard_bytes(q, own, held, ranks) + (own + stack_of(q).facts.moment_bytes()) * updated;
    part.parameters = held.packed.scales;
    part.gradients = 0;
    return;
  }
  double const value = value_bytes(q.program.format);
  part.host += shard_bytes(q, value, held, ranks);
  part.parameters = held.packed.scales + (q.layout.offload.optimizer ? 0 : (own - value) * updated);
}

// Bytes of the optimizer's state on one of the ranks that share it, with `main` for each of the
// parameters that the rank updates.
inline double kept_by_optimizer(question const& q, held_parameters const& held, double updated,
                                double main, double ranks, double expert_ranks) {
  fact_values const facts = stack_of(q).facts;
  if (q.model.update.kind == optimizer_kind::adam) return (facts.moment_bytes() + main) * updated;
  return state_bytes(held.state, facts, ranks, expert_ranks) + main * updated;
}

// The `copies` of a stage are on different devices of a pipeline, and shard the state together with data
// ranks. If gradients are sharded beside a pipeline, those of one stage are summed while those of
// another leave.
inline void add_parameters(question const& q, stage_needs const& needs, int copies, memory_parts& part) {
  stack const s = stack_of(q);
  held_parameters const& held = needs.held;
  bool const leaves = q.layout.offload.optimizer;
  double const value = value_bytes(q.program.format), ranks = q.layout.sharing_ranks() * copies,
               expert_ranks = q.layout.expert_sharing_ranks() * copies;
  // One packed matrix is unpacked at a time.
  part.gathered = value * held.packed.largest;
  if (!s.is_sharded) {
    bool const splits = q.layout.sharding != sharding::none;
    // The optimizer's own weights, unless values have 32 bits.
    double const main = value < 4 ? s.facts.main_bytes() : 0;
    part.parameters = shard_bytes(q, parameter_bytes(q, s, value), held, 1) + held.packed.scales;
    part.gradients = gradient_bytes(q, s, value) * held.trained.both();
    if (s.sums_in_shards) {
      double const shards = held.trained.dense / ranks + held.trained.expert / expert_ranks;
      part.gradients = min_of(part.gradients, gradient_bytes(q, s, value) * (shards + 2 * needs.summed));
    }
    if (q.model.update.updates_at_once)
      part.gradients = gradient_bytes(q, s, value) * held.state.largest;
    part.gradients += value * held.unused.both();
    double const updated =
        held.trained.dense / (splits ? ranks : 1) + held.trained.expert / (splits ? expert_ranks : 1);
    part.optimizer = leaves ? 0
                            : kept_by_optimizer(q, held, updated, main, splits ? ranks : 1,
                                                splits ? expert_ranks : 1);
    part.host = leaves ? host_bytes(s.facts) * updated : 0;
    return;
  }
  // Shards are the optimizer's weights; sums come in their format. The rest of 32 bits is held
  // beside 16.
  double const updated = held.trained.both() / ranks, own = own_weight_bytes(q);
  part.parameters = shard_bytes(q, own, held, ranks) + held.packed.scales;
  part.gradients = own * updated;
  part.optimizer = kept_by_optimizer(q, held, updated, 0, ranks, ranks);
  if (q.layout.weight_ranks > 0) part.parameters += held.gathered_bytes() / q.layout.weight_ranks;
  if (leaves) {
    part.parameters -= (own - value) * updated;
    part.optimizer = 0;
    part.host = host_bytes(s.facts) * updated;
  }
  add_weights_on_host(q, held, ranks, part);
  // Sums of all micro-batches, in the format of passes unless they are wider.
  if (q.program.scatters_once && q.micro_batches() > 1)
    part.gradients += (q.program.sums_in_32_bits ? 4 : value) * held.trained.both();
  part.gathered += layers_at_work(q, held, ranks);
}

// A frozen copy of the weights, in 16 bits, where they are; beside adapters it is the model itself.
inline void add_frozen_copy(question const& q, held_parameters const& held, int copies,
                            memory_parts& part) {
  if (!q.program.holds_frozen_copy || q.model.lora.are_any()) return;
  double const ranks = q.layout.sharding == sharding::full ? q.layout.sharing_ranks() * copies : 1;
  bool const is_away = q.layout.offload.weights != offloaded_weights::none;
  (is_away ? part.host : part.parameters) += value_bytes(q.program.format) * held.all.both() / ranks;
}

// Weights of teachers in 16 bits, where they are; logits that wait for the loss, and their softmax in
// 32 bits, of as many tokens at once as the loss takes. Two layers at work are gathered, as the model's
// own are at another time.
inline void add_teachers(question const& q, int copies, memory_parts& part) {
  bool const is_full = q.layout.sharding == sharding::full;
  bool const is_away = q.layout.offload.weights != offloaded_weights::none;
  double const ranks = is_full ? q.layout.sharing_ranks() * copies : 1,
               value = value_bytes(q.program.format);
  stack const s = stack_of(q);
  double const softmax = s.is_sharded && s.facts.loss() == logits_held::chunks ? 4.0 / 8 : 4.0;
  for (architecture const& each : q.teachers) {
    question const asked = teacher_question(q, each);
    held_parameters const held = held_by_stage(asked.model, asked.layout, stages_of(asked)[0]);
    (is_away ? part.host : part.parameters) += value * held.all.both() / ranks;
    part.logits += (value + softmax) * q.micro_batch_tokens() * head_rows(each, q.layout.tensor);
    // Half of them: no gradients.
    if (is_full) part.gathered = max_of(part.gathered, layers_at_work(asked, held, ranks) / 2);
  }
}

inline std::vector<memory_parts> memory_with(question const& q, std::vector<stage> const& stages,
                                             execution const& run, bool gathered, constants const& c) {
  std::vector<stage_needs> const needs = needs_of(q, stages, gathered, c);
  std::vector<double> kept, left;
  for (stage_needs const& each : needs) {
    kept.push_back(each.kept);
    left.push_back(each.left);
  }
  placement const where = placement_of(q);
  std::vector<std::vector<int>> const here = stages_by_device(where);
  std::vector<double> held, held_by_host;
  if (!run.is_empty()) {
    held = run.held(kept);
    if (q.layout.offload.parts != offloaded::none) held_by_host = run.held(left);
  }
  rank_questions const on(q);
  std::vector<memory_parts> devices;
  for (std::size_t d = 0; d < here.size(); ++d) {
    stage_needs all;
    for (int number : here[d]) all.add(needs[static_cast<std::size_t>(number)]);
    double activations = 0, on_host = 0;
    if (run.is_empty()) {
      std::vector<int> const times = in_flight(q, static_cast<int>(d));
      for (std::size_t chunk = 0; chunk < times.size(); ++chunk) {
        auto const number = static_cast<std::size_t>(here[d][chunk]);
        activations += times[chunk] * kept[number];
        on_host += times[chunk] * left[number];
      }
    } else {
      activations = held[d];
      if (!held_by_host.empty()) on_host = held_by_host[d];
    }
    devices.push_back(
        memory_of_device(on.of(static_cast<int>(d)), all, activations, where.route_count(), c));
    devices.back().host += on_host;
  }
  return devices;
}

}  // namespace memory_detail

void stage_needs::add(stage_needs const& other) {
  held.add(other.held);
  summed = max_of(summed, other.summed);
  kept += other.kept;
  left += other.left;
  moving = max_of(moving, other.moving);
  whole = max_of(whole, other.whole);
  logits += other.logits;
}

std::vector<stage_needs> needs_of(question const& q, std::vector<stage> const& stages, bool gathered,
                                  constants const& c) {
  std::vector<kept_activations> const kept = kept_by_stage(q, stages, gathered, c);
  double const logits = memory_detail::logit_bytes(stack_of(q), c) * q.micro_batch_tokens()
                        * head_rows(q.model, q.layout.tensor) * q.layout.tensor;
  // A head in 32 bits is copied for its product in 16.
  double const head_copy =
      q.model.lora.widens_rest && value_bytes(q.program.format) < 4
          ? 2 * head_rows(q.model, q.layout.tensor) * q.layout.tensor * head_columns(q.model)
          : 0;
  std::vector<stage_needs> all;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    stage const& s = stages[i];
    held_parameters const held = held_by_stage(q.model, q.layout, s);
    all.push_back(
        {.held = held,
         .summed = held.trained.both(),
         .kept = kept[i].bytes - kept[i].leaving,
         .left = kept[i].leaving,
         .moving = 2 * kept[i].largest,
         .whole = kept[i].whole,
         .logits = (logits * losses_of(q.model, s) + (s.has_head ? head_copy : 0)) / q.layout.tensor});
  }
  return all;
}

memory_parts memory_of_device(question const& q, stage_needs const& all, double activations, int copies,
                              constants const& c) {
  memory_parts part;
  memory_detail::add_parameters(q, all, copies, part);
  memory_detail::add_frozen_copy(q, all.held, copies, part);
  memory_detail::add_teachers(q, copies, part);
  if (q.model.lora.are_any()) {
    part.gathered += adapter_bytes_at_work(q.model);
    part.parameters += adapter_held_bytes(q.model);
  }
  // AdaLoRA keeps the importance of each parameter and two averages of it, in 32 bits.
  if (q.model.lora.are_any() && q.model.lora.kind == adapter_kind::singular_values)
    part.optimizer += 3 * 4 * all.held.trained.both();
  part.activations = activations + all.whole + all.moving;
  part.logits += all.logits;
  part.framework = c.framework_bytes;
  return part;
}

std::vector<int> in_flight(question const& q, int device) {
  int const p = q.layout.pipeline, v = q.layout.chunks, n = q.micro_batches();
  if (v == 1) return std::vector<int>(1, min_of(n, p - device));
  std::vector<int> held(static_cast<std::size_t>(v));
  long long left = min_of(1LL * n * v, 2LL * (p - device - 1) + (v - 1LL) * p + 1);
  for (std::size_t chunk = 0; left > 0; ++chunk, left -= p)
    held[chunk % held.size()] += static_cast<int>(min_of<long long>(p, left));
  return held;
}

std::vector<memory_parts> memory_of(question const& q, std::vector<stage> const& stages,
                                    constants const& c, execution const& run) {
  if (stack_of(q).is_plain && q.layout.tensor > 1 && q.layout.pipeline == 1) {
    std::vector<memory_parts> devices = memory_detail::memory_with(q, stages, run, true, c);
    if (fits(q, devices, c)) return devices;
  }
  return memory_detail::memory_with(q, stages, run, false, c);
}

std::vector<memory_parts> memory_of(question const& q, std::vector<stage> const& stages,
                                    constants const& c) {
  if (!q.layout.is_executed()) return memory_of(q, stages, c, {});
  return memory_of(q, stages, c, execute(q, stages, passes_of(q, stages, c), c));
}

double peak_bytes(std::vector<memory_parts> const& devices) {
  double most = 0;
  for (memory_parts const& d : devices) most = max_of(most, d.all());
  return most;
}

double peak_host_bytes(std::vector<memory_parts> const& devices) {
  double most = 0;
  for (memory_parts const& d : devices) most = max_of(most, d.host);
  return most;
}

bool fits(question const& q, std::vector<memory_parts> const& devices, constants const& c) {
  rank_questions const on(q);
  for (std::size_t d = 0; d < devices.size(); ++d) {
    machine const& device = on.of(static_cast<int>(d)).cluster.device();
    double const host = devices[d].host;
    if (!fits(device, devices[d].all(), c) || (host > 0 && host > device.host.memory_bytes))
      return false;
  }
  return true;
}

int fullest_device(question const& q, std::vector<memory_parts> const& devices) {
  rank_questions const on(q);
  double most = -1;
  int fullest = 0;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    int const rank = static_cast<int>(d);
    double const share = devices[d].all() / on.of(rank).cluster.device().memory_bytes;
    if (!(share > most)) continue;
    most = share;
    fullest = rank;
  }
  return fullest;
}

}  // namespace ashlar::cost
