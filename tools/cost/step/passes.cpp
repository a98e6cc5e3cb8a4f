#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/question/rank_questions.hpp>
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/step/exchanges.hpp>
#include <ashlar/cost/step/expert_passes.hpp>
#include <ashlar/cost/step/held_parameters.hpp>
#include <ashlar/cost/step/kept.hpp>
#include <ashlar/cost/step/kernels.hpp>
#include <ashlar/cost/step/packed_weights.hpp>
#include <ashlar/cost/step/passes.hpp>
#include <ashlar/cost/step/tower_passes.hpp>
#include <ashlar/cost/step/weight_shards.hpp>

#include <cstddef>
#include <optional>

namespace ashlar::cost {

void pass_terms::add(pass_terms const& other, double times) {
  products += times * other.products;
  attention += times * other.attention;
  scan += times * other.scan;
  bytes += times * other.bytes;
  tensor += times * other.tensor;
  expert += times * other.expert;
  context += times * other.context;
  host += times * other.host;
  weights += times * other.weights;
  measured += times * other.measured;
}

namespace passes_detail {

// The share of launches that the host does itself.
inline double launched_share(question const& q, constants const& c) {
  switch (stack_of(q).facts.graphs()) {
    case captured::layers:
      return c.host_graphs;
    case captured::step:
      return 0;
    default:
      return 1;
  }
}

}  // namespace passes_detail

stage_passes passes_of_work(question const& q, layer const& l, layer_work const& w, constants const& c) {
  stage_passes s;
  pass_terms &f = s.forward, &b = s.backward;
  auto const set = [&](double pass_terms::*term, seconds_each_way const& both) {
    f.*term = both.forward;
    b.*term = both.backward;
  };
  seconds_each_way const products = products_seconds(q, w.products, c);
  set(&pass_terms::products, products);
  b.weights = products.weights;
  set(&pass_terms::attention, attention_seconds(q, w, c));
  set(&pass_terms::scan, scan_seconds(q.cluster.device(), w, c));
  set(&pass_terms::bytes, bytes_seconds(q, w, c));
  f.tensor = b.tensor = tensor_seconds(q, w, c);
  exchange_with_experts(q, w, l.feed, s, c);
  f.context = context_seconds(q.cluster, q.layout, w, f.attention, c);
  b.context = context_seconds(q.cluster, q.layout, w, b.attention, c);
  f.host = w.parts * (c.host + (q.layout.tensor > 1 && stack_of(q).is_plain ? c.host_tensor : 0));
  if (w.experts > 0) f.host += c.host_expert + launch_of_expert_seconds(q, c) * w.experts;
  f.host *= passes_detail::launched_share(q, c);
  b.host = f.host;
  return s;
}

void pass_terms::leave_out_weights() {
  (measured > 0 ? measured : products) -= weights;
  weights = 0;
}

namespace passes_detail {

// Passes as they were measured for one sequence; a micro-batch takes a multiple. Gradients of weights
// take half of a backward, unless attention, which has no weights, leaves less.
inline stage_passes passes_of_measured(question const& q, measured_layer const& m) {
  stage_passes s;
  double const times = q.layout.micro_batch, forward = times * m.forward, backward = times * m.backward;
  s.forward.attention = m.attends_forward * forward;
  s.forward.measured = forward - s.forward.attention;
  s.backward.attention = m.attends_backward * backward;
  s.backward.measured = backward - s.backward.attention;
  s.backward.weights = min_of(backward / 2, s.backward.measured);
  return s;
}

}  // namespace passes_detail

stage_passes passes_of_layer(question const& q, layer const& l, recomputation again, gradient_kind takes,
                             constants const& c) {
  measured_layer const* const m = measured_on(l, q.layout.tensor, q.cluster.kinds.front().name);
  stage_passes s =
      m != nullptr ? passes_detail::passes_of_measured(q, *m) : passes_of_work(q, l, work_of(q, l), c);
  if (takes == gradient_kind::none) {
    s.backward = {};
    return s;
  }
  if (takes == gradient_kind::inputs) s.backward.leave_out_weights();
  if (m != nullptr) {
    if (has(again, recomputation::full)) s.backward.add(s.forward);
    return s;
  }
  if (q.model.lora.are_any()) {
    stage_passes const low = passes_of_work(q, l, adapter_work(q, l), c);
    s.forward.add(low.forward);
    s.backward.add(low.backward);
    if (has(again, recomputation::full)) s.backward.add(low.forward);
  }
  if (again != recomputation::none)
    s.backward.add(passes_of_work(q, l, work_again(q, l, again), c).forward);
  return s;
}

stage_passes passes_of_head(question const& q, constants const& c) {
  if (!q.model.has_tables()) return {};
  product const p = head_product(q);
  std::vector<product> only;
  only.push_back(p);
  seconds_each_way const products = products_seconds(q, only, c);
  stage_passes s;
  s.forward.products = products.forward;
  s.backward.products = products.backward;
  s.backward.weights = products.weights;
  if (!q.model.trains_head()) s.backward.leave_out_weights();
  adapters const& lora = q.model.lora;
  unpacking_bytes const unpacked = lora.packs_head
                                       ? unpacking_of(lora, p.m, p.n, p.k, value_bytes(q.program.format))
                                       : unpacking_bytes{};
  double const rate = memory_rate(q.cluster.device(), c), loss = 0.5 * p.m * p.n * c.loss_bytes;
  s.forward.bytes = (loss + unpacked.forward) / rate;
  if (q.layout.tensor > 1)
    s.forward.tensor = tensor_bytes_seconds(
        q.cluster, q.layout, 2 * p.m * q.model.hidden * (q.layout.tensor - 1.0) / q.layout.tensor, c);
  s.forward.host = c.host * passes_detail::launched_share(q, c);
  s.backward.bytes = (loss + unpacked.backward) / rate;
  s.backward.tensor = s.forward.tensor;
  s.backward.host = s.forward.host;
  if (q.model.lora.are_any() && has(q.model.lora.of, adapted::head)) {
    layer_work added;
    add_adapter({p.k, p.n * q.layout.tensor}, q, added);
    stage_passes const low = passes_of_work(q, {}, added, c);
    s.forward.add(low.forward);
    s.backward.add(low.backward);
  }
  return s;
}

namespace passes_detail {

// Seconds that copies over the host's link take before a pass's gathers, and after its scatters.
struct host_copies {
  double forward = 0, backward = 0;
};

// Each rank copies its shard to the device before it is gathered, and its own gradients to the host,
// which go the other way at the same time.
inline host_copies copies_of_weights(question const& q, held_parameters const& held) {
  offloaded_weights const away = q.layout.offload.weights;
  if (away == offloaded_weights::none) return {};
  double const ranks = q.layout.sharing_ranks(), each = copied_weight_bytes(q),
               unused = each * (held.all.both() - held.backward.both()) / ranks,
               in = shard_bytes(q, each, held, ranks),
               out = away == offloaded_weights::own ? each * held.trained.both() / ranks : 0,
               link = q.cluster.device().host.link;
  return {in / link, max_of(in - unused, out) / link};
}

// sharding: gathers weights (2 bytes) beside each pass, scatters gradients (4 bytes) beside the
// backward, and sums those of a shard over its copies. The longer of pass and exchange counts, plus
// `contention` of the shorter.
inline void share_weights(question const& q, stage_passes& s, held_parameters const& held,
                          constants const& c) {
  double const ranks = q.layout.sharing_ranks();
  auto const seconds = [&](double bytes, double among) {
    return bytes * (among - 1) / among / group_rate(q.cluster, q.layout, among, q.layout.tensor, c);
  };
  auto const exposed = [&](pass_terms const& p, double exchange) {
    double const pass = p.launched();
    return max_of(pass, exchange) + c.contention * min_of(pass, exchange) - pass;
  };
  double const all = held.gathered_bytes(), unused = held.all.both() - held.backward.both(),
               from = q.layout.weight_ranks > 0 ? q.layout.weight_ranks : ranks,
               gathered = q.layout.sharding == sharding::full ? seconds(all - 2 * unused, from) : 0;
  double const summed =
      q.program.sums_copies_once ? 0 : copies_seconds(q.cluster, q.layout, held.trained, c);
  host_copies const copies = copies_of_weights(q, held);
  auto const share = [&exposed](pass_terms& p, double exchange, double copy) {
    p.sharding = exposed(p, exchange);
    p.offload = exposed(p, exchange + copy) - p.sharding;
  };
  share(s.forward, seconds(all, ranks), copies.forward);
  // Backwards whose gradients stay, and those that scatter them.
  pass_terms stays = s.backward;
  share(stays, gathered, copies.backward);
  share(s.backward, gathered + seconds(4 * held.trained.both(), ranks) + summed, copies.backward);
  if (!q.program.scatters_once) return;
  double const scatter = 1.0 / q.micro_batches();
  s.backward.sharding = scatter * s.backward.sharding + (1 - scatter) * stays.sharding;
  s.backward.offload = scatter * s.backward.offload + (1 - scatter) * stays.offload;
}

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

}  // namespace passes_detail

namespace passes_detail {

// The question of the forwards beside each: adapters are switched off, and nothing is kept.
inline question without_adapters(question q) {
  q.program.frozen_forwards = 0;
  q.model.lora.of = adapted::none;
  q.layout.offload.parts = offloaded::none;
  return q;
}

// Runs such forwards beside one that is followed by a backward.
inline void run_beside(pass_terms const& one, question const& q, pass_terms& forward) {
  double const times = q.program.frozen_forwards;
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
    if (int const losses = losses_of(q.model, s); losses > 0) add(head, losses);
    if (is_sharded) passes_detail::share_weights(q, made, held_by_stage(q.model, q.layout, s), c);
    if (!q.measured.stages.empty())
      made = passes_detail::as_measured(
          made, q.measured.stages[q.measured.stages.size() == 1 ? 0 : all.size()]);
    if (!beside.empty()) passes_detail::run_beside(beside[all.size()].forward, q, made.forward);
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
