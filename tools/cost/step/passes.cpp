#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/question/rank_questions.hpp>
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/cost/question/teachers.hpp>
#include <ashlar/cost/step/exchanges.hpp>
#include <ashlar/cost/step/held_parameters.hpp>
#include <ashlar/cost/step/kept.hpp>
#include <ashlar/cost/step/passes.hpp>
#include <ashlar/cost/step/tower_passes.hpp>
#include <ashlar/cost/step/weight_shards.hpp>

#include <cstddef>
#include <optional>

namespace ashlar::cost {

namespace passes_detail {

// Copies to the host run during the forward and copies back during the backward, for neighbouring
// layers. They occupy none of the device's multiprocessors.
inline void send_to_host(machine const& device, kept_activations const& kept, stage_passes& s) {
  double const copy = kept.leaving / device.host.link;
  for (pass_terms* p : {&s.forward, &s.backward})
    p->offload += max_of(0.0, copy - p->launched() - p->sharding - p->offload);
}

// Uses the measured times. A backward's division is as counted, unless it was measured.
inline stage_passes as_measured(stage_passes const& counted, measured_stage const& m) {
  stage_passes s;
  s.forward.measured = m.forward;
  s.backward.measured = m.backward;
  double const whole = counted.backward.seconds();
  s.backward.weights = m.weights >= 0 ? m.weights
                       : whole > 0    ? m.backward * counted.weight_seconds() / whole
                                      : 0;
  return s;
}

inline void check_measured(question const& q, std::size_t stages) {
  std::size_t const n = q.measured.stages.size();
  if (n != 1 && n != stages)
    throw unpredictable(requirement::measured_has_every_stage, static_cast<long long>(n),
                        static_cast<long long>(stages));
  for (std::size_t i = 0; i < n; ++i) {
    measured_stage const& m = q.measured.stages[i];
    bool const is_time = m.forward > 0 && m.forward < 1e9 && m.backward > 0 && m.backward < 1e9;
    if (!is_time || !(m.weights <= m.backward))
      throw unpredictable(requirement::measured_is_positive, static_cast<long long>(i));
  }
}

// The question of the forwards beside each: adapters are switched off, and nothing is kept.
inline question without_adapters(question q) {
  q.program.frozen_forwards = 0;
  q.model.lora.of = adapted::none;
  q.layout.offload.parts = offloaded::none;
  return q;
}

// Runs such forwards beside one that is followed by a backward.
inline void run_beside(pass_terms const& one, double times, pass_terms& forward) {
  forward.add(one, times);
  forward.sharding += times * one.sharding;
  forward.offload += times * one.offload;
}

// The passes of each stage, all on devices like these, without their messages.
inline std::vector<stage_passes> passes_on_one_kind(question const& q, std::vector<stage> const& stages,
                                                    constants const& c) {
  int const first_trained = q.model.first_trained();
  std::vector<stage_passes> of_kind;  // for each kind of layer, by recomputation and gradients
  for (layer const& l : q.model.kinds)
    for (recomputation again : {recomputation::none, q.layout.recompute})
      for (gradient_kind takes : {gradient_kind::all, gradient_kind::inputs, gradient_kind::none})
        of_kind.push_back(passes_of_layer(q, l, again, takes, c));
  stage_passes const head = passes_of_head(q, c);
  stage_passes predictor;
  if (q.model.predictions > 0)
    predictor =
        passes_of_layer(q, q.model.predictor, q.layout.recompute_in_predictor(), gradient_kind::all, c);
  bool const is_sharded = stack_of(q).is_sharded;
  if (!q.measured.stages.empty()) passes_detail::check_measured(q, stages.size());
  std::vector<kept_activations> kept;
  if (q.layout.offload.parts != offloaded::none) kept = kept_by_stage(q, stages, false, c);

  std::vector<stage_passes> const beside = q.program.frozen_forwards > 0
                                               ? passes_on_one_kind(without_adapters(q), stages, c)
                                               : std::vector<stage_passes>{};
  std::vector<pass_terms> teaching;
  for (architecture const& each : q.teachers) {
    question const asked = teacher_question(q, each);
    teaching.push_back(passes_on_one_kind(asked, stages_of(asked), c)[0].forward);
  }

  std::vector<stage_passes> all;
  for (stage const& s : stages) {
    stage_passes made;
    auto const add = [&](stage_passes const& part, double times) {
      made.forward.add(part.forward, times);
      made.backward.add(part.backward, times);
    };
    for (int i = s.first; i < s.first + s.count; ++i) {
      auto const kind = static_cast<std::size_t>(q.model.layers[static_cast<std::size_t>(i)]);
      auto const takes = static_cast<std::size_t>(q.model.gradients_of(i, first_trained));
      add(of_kind[6 * kind + (q.layout.recompute_in.have(i, s.first) ? 3 : 0) + takes], 1);
    }
    if (s.predictions > 0) add(predictor, s.predictions);
    for (std::size_t i = 0; i < q.model.towers.size() && s.has_embedding; ++i)
      add(passes_of_tower(q, i, c), 1);
    add(head, losses_of(q.model, s));
    if (is_sharded) share_weights(q, made, held_by_stage(q.model, q.layout, s), c);
    if (!q.measured.stages.empty())
      made = passes_detail::as_measured(
          made, q.measured.stages[q.measured.stages.size() == 1 ? 0 : all.size()]);
    if (!beside.empty())
      passes_detail::run_beside(beside[all.size()].forward, q.program.frozen_forwards, made.forward);
    for (pass_terms const& each : teaching) passes_detail::run_beside(each, 1, made.forward);
    if (!kept.empty()) passes_detail::send_to_host(q.cluster.device(), kept[all.size()], made);
    all.push_back(made);
  }
  return all;
}

// Adds the messages to the next stage, and of gradients to the one before. Each end sends as its other
// message does. In a batch, what comes back goes at the same time; alone, it goes before or after.
inline void add_transfers(question const& q, rank_questions& on, std::vector<stage> const& stages,
                          std::vector<stage_passes>& all, constants const& c) {
  int const last = static_cast<int>(all.size()) - 1;
  // With several routes, the slowest message counts, as the slowest device does.
  std::optional<placement> where;
  if (q.cluster.has_several_kinds()) where = placement_of(q);
  auto const seconds = [&](int s, int other, double bytes) {
    if (!where) return transfer_seconds(q, bytes, c);
    double most = 0;
    for (int route = 0; route < where->route_count(); ++route) {
      question const& link = on.between(where->device_of(route, s), where->device_of(route, other));
      most = max_of(most, transfer_seconds(link, bytes, c));
    }
    return most;
  };
  double const times = stack_of(q).facts.transfers() == message::single ? 2 : 1;
  for (int s = 0; s <= last; ++s) {
    stage const& has = stages[static_cast<std::size_t>(s)];
    stage_passes& each = all[static_cast<std::size_t>(s)];
    each.forward.transfer = times * seconds(s, s < last ? s + 1 : s - 1, bytes_after(q, has));
    each.backward.transfer = times * seconds(s, s > 0 ? s - 1 : s + 1, bytes_before(q, has));
  }
}

}  // namespace passes_detail

std::vector<stage_passes> passes_of(question const& q, std::vector<stage> const& stages,
                                    constants const& c) {
  rank_questions on(q);
  std::vector<stage_passes> all;
  if (!q.cluster.has_several_kinds()) {
    all = passes_detail::passes_on_one_kind(q, stages, c);
  } else {
    all.resize(stages.size());
    std::vector<question const*> const asked = on.of_stages(placement_of(q));
    std::vector<char> is_known(stages.size(), 0);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if (is_known[i] != 0) continue;
      std::vector<stage_passes> const here = passes_detail::passes_on_one_kind(*asked[i], stages, c);
      for (std::size_t s = i; s < stages.size(); ++s)
        if (asked[s] == asked[i]) {
          all[s] = here[s];
          is_known[s] = 1;
        }
    }
  }
  bool const is_in_the_way = stack_of(q).facts.transfers() != message::beside;
  if (q.layout.pipeline > 1 && is_in_the_way) passes_detail::add_transfers(q, on, stages, all, c);
  return all;
}

}  // namespace ashlar::cost
