#include <ashlar/cost/model/adapted_matrices.hpp>
#include <ashlar/cost/model/adapter_forms.hpp>
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/question/towers.hpp>
#include <ashlar/cost/step/kept.hpp>
#include <ashlar/cost/step/operators.hpp>
#include <ashlar/cost/step/tower_passes.hpp>

#include <cstddef>

namespace ashlar::cost {

namespace kept_detail {

// Bytes of an element that a layer hands on.
inline double handed_bytes(question const& q) {
  return q.model.lora.widens_rest ? 4 : value_bytes(q.program.format);
}

// Bytes per token that a layer keeps.
class keeper {
 public:
  explicit keeper(question const& q)
      : q_(q),
        stack_(stack_of(q)),
        value_(value_bytes(q.program.format)),
        input_(is_low(q.program.format) ? 1 : value_),
        tensor_(q.layout.tensor) {}

  // With split sequences, each token of a norm is on one tensor rank.
  double split() const { return stack_.splits_sequences ? tensor_ : 1; }

  // If weights are frozen, inputs of products are not kept (`trains`), unless adapters read them.
  double of(mixer const& m, recomputation again, bool trains) const {
    if (m.kind == mixer_kind::none) return 0;
    adapted const inputs = adapted::queries | adapted::keys | adapted::values
                           | adapted::queries_keys_values | adapted::queries_down
                           | adapted::keys_values_down;
    double kept = norm(again, trains || adapters_read(inputs)) + between(adapted_matrices(q_.model, m));
    if (m.kind == mixer_kind::attention) {  // queries, keys, values, result, sum of each row
      double const gate = m.has_gate ? m.heads : 0;
      kept += value_ * (2 * m.heads + gate + 2 * m.groups) * m.head / tensor_ + 4 * m.heads / tensor_;
      // Softmax, mask, and the output of dropout (Korthikanti et al. 2022).
      if (stack_.writes_scores && !has(again, recomputation::attention | recomputation::full))
        kept += (2 * value_ + 1) * m.heads / tensor_ * q_.sequence;
    } else if (m.kind == mixer_kind::compressed) {
      kept += ((trains ? input_ : 0) + value_) * (m.q_rank + m.kv_rank) + value_ * m.rope;
      double const made = has(again, recomputation::up_projections) ? 0 : made_by_projections(m);
      kept += value_ * m.heads * (results_of_scores(m) + made) / tensor_;
      if (m.index_heads > 0)  // its queries, key and weights, and the choice
        kept += value_ * (m.index_heads * m.index_head + m.index_head + m.index_heads) + 4 * m.chosen;
    } else if (m.keys > 0) {
      kept += value_ * (5 * m.inner + 4 * m.keys) / tensor_;
    } else {  // The output's gate, a value, the state and the result; of each gate, three.
      kept += value_ * (4 * m.inner + 3 * (m.steps + 2 * m.rank)) / tensor_;
    }
    return kept;
  }

  // Attention to what the last tower made keeps keys and values of its tokens.
  double of_cross(mixer const& m, recomputation again, bool trains) const {
    if (m.kind == mixer_kind::none) return 0;
    double const keys = cross_keys(q_.model, q_.sequence) / q_.sequence, gate = m.has_gate ? m.heads : 0;
    double kept = norm(again, trains) + 4 * m.heads / tensor_
                  + value_ * (2 * m.heads + gate + 2 * keys * m.groups) * m.head / tensor_;
    if (stack_.writes_scores && !has(again, recomputation::attention | recomputation::full))
      kept += (2 * value_ + 1) * m.heads / tensor_ * keys * q_.sequence;
    return kept;
  }

  double of(feed_forward const& f, recomputation again, bool trains) const {
    if (f.kind == feed_forward_kind::none) return 0;
    std::vector<adapted_matrix> const adapters = adapted_matrices(q_.model, f);
    bool const reads_norm =
                   adapters_read(adapted::gates | adapted::up | adapted::gates_up) && !adapters.empty(),
               reads_activation = adapters_read(adapted::down);
    double const kept = norm(again, trains || reads_norm) + between(adapters);
    if (f.kind == feed_forward_kind::dense)
      return kept
             + (has(again, recomputation::dense)
                    ? 0
                    : dense(f, f.width, trains || reads_activation) / tensor_);
    if (has(again, recomputation::experts)) return kept;
    // Routed copies of the input, and the values that experts keep of each.
    double const routed = dense(f, f.expert_width / q_.layout.expert_tensor,
                                trains && !has(again, recomputation::activation));
    double const shared = has(again, recomputation::shared_expert)
                              ? 0
                              : dense(f, f.shared_width, trains || reads_activation);
    return kept + copies(f) * ((trains ? routed_input(f) : 0) + routed) + shared / tensor_
           + 4 * f.experts / tensor_;
  }

  // Under selective recomputation: the layer's input, the kept products, results of scores with the sum
  // of each row, and what tensor ranks summed (torchtitan, activation_checkpoint.py).
  double of_operators(layer const& l) const {
    mixer const& m = l.mix;
    double const value_head = m.kind == mixer_kind::compressed ? m.value_head : m.head;
    double elements = (m.heads * value_head + l.cross.heads * l.cross.head) / tensor_;
    for (operator_product const& each : operator_products(q_, l))
      if (each.is_kept) elements += each.out;
    if (tensor_ > 1) elements += 2 * q_.model.hidden / split();
    return norm_input() + value_ * elements + 4 * (m.heads + l.cross.heads) / tensor_;
  }

  // The share of these bytes that offloaded parts hold.
  double leaving(mixer const& m, recomputation again, bool trains, offloaded parts) const {
    if (m.kind == mixer_kind::none) return 0;
    double bytes = (has(parts, offloaded::attention_norm) ? norm_input() : 0)
                   + (has(parts, offloaded::norm_result) ? norm_result(again, trains) : 0);
    double taken = 0, given = 0;  // per token, by attention
    if (m.kind == mixer_kind::attention) {
      taken = (m.heads + 2 * m.groups) * m.head;
      given = m.heads * m.head;
    } else if (m.kind == mixer_kind::compressed) {
      if (!has(again, recomputation::up_projections)) taken = m.heads * made_by_projections(m);
      given = m.heads * results_of_scores(m);
    }
    if (has(parts, offloaded::attention)) bytes += value_ * taken / tensor_;
    if (has(parts, offloaded::attention_result)) bytes += value_ * given / tensor_;
    return bytes;
  }

  double leaving(feed_forward const& f, recomputation again, bool trains, offloaded parts) const {
    if (f.kind == feed_forward_kind::none) return 0;
    double bytes = has(parts, offloaded::feed_norm) ? norm_input() : 0;
    if (f.kind == feed_forward_kind::dense || has(again, recomputation::experts)) return bytes;
    if (trains && has(parts, offloaded::expert_input)) bytes += copies(f) * routed_input(f);
    if (has(parts, offloaded::activation))
      bytes += copies(f) * first_product(f, f.expert_width / q_.layout.expert_tensor);
    return bytes;
  }

 private:
  // Some kinds keep a copy of their own, or none.
  bool adapters_read(adapted inputs) const {
    return has(q_.model.lora.of, inputs) && form_of(q_.model.lora, {1, 1}).reads_input;
  }
  double norm_input() const { return handed_bytes(q_) * q_.model.hidden / split(); }
  double norm_result(recomputation again, bool trains) const {
    return !trains || has(again, recomputation::norms) ? 0 : input_ * q_.model.hidden / split();
  }
  double norm(recomputation again, bool trains) const {
    // Not fused, a norm keeps its input and its quotients in 32 and 16 bits in place of the input.
    bool const keeps_more = !stack_.facts.has(fact::fused_norm) && !has(again, recomputation::norms);
    return norm_input() + norm_result(again, trains) + (keeps_more ? 4 * q_.model.hidden / split() : 0);
  }

  // Bytes that adapters keep of their own.
  double between(std::vector<adapted_matrix> const& matrices) const {
    double kept = 0;
    for (adapted_matrix const& each : matrices) {
      adapter_form const form = form_of(q_.model.lora, each);
      kept += form.kept + form.kept_once / q_.micro_batch_tokens();
    }
    return kept / tensor_;
  }

  // Queries, keys and values of a head; queries alone, if heads meet compressed keys.
  static double made_by_projections(mixer const& m) {
    return m.chosen > 0 ? m.kv_rank + m.rope : 2 * (m.nope + m.rope) + m.value_head;
  }
  static double results_of_scores(mixer const& m) {
    return m.chosen > 0 ? m.kv_rank + m.value_head : m.value_head;
  }

  // Routed copies of a token.
  double copies(feed_forward const& f) const {
    return f.chosen / tensor_ * q_.layout.expert_tensor * stack_.facts.expert_load();
  }
  double routed_input(feed_forward const& f) const {
    return input_ * (f.latent > 0 ? f.latent : q_.model.hidden);
  }

  double first_product(feed_forward const& f, double width) const {
    return (f.is_gated ? 2 : 1) * value_ * width;
  }

  // Keeps the results of the first product and of the activation. A compiled sharded program recomputes
  // the latter; a plain one keeps SiLU too.
  double dense(feed_forward const& f, double width, bool keeps_activation) const {
    double const first = first_product(f, width);
    if (!keeps_activation || (f.is_gated && stack_.is_sharded)) return first;
    return first + input_ * width + (f.is_gated && stack_.is_plain ? value_ * width : 0);
  }

  question const& q_;
  stack stack_;
  double value_, input_, tensor_;
};

}  // namespace kept_detail

double kept_bytes(question const& q, layer const& l, recomputation again, bool trains, bool gathered,
                  constants const& c) {
  kept_detail::keeper const keep(q);
  if (has(again, recomputation::operators)) return keep.of_operators(l);
  stack const s = stack_of(q);
  double const h = q.model.hidden, t = q.layout.tensor;
  double kept = keep.of(l.mix, again, trains) + keep.of_cross(l.cross, again, trains)
                + keep.of(l.feed, again, trains);
  if (s.is_classic) kept += 2 * h / keep.split();  // masks of dropout
  if (s.is_plain) kept += c.kept_plain * h / t;
  if (s.is_plain && gathered && trains) kept += 4 * h * (t - 1) / t;  // inputs of two products
  return kept;
}

double leaving_bytes(question const& q, layer const& l, recomputation again, bool trains,
                     offloaded parts, constants const& c) {
  if (parts == offloaded::none) return 0;
  if (has(parts, offloaded::all)) return kept_bytes(q, l, again, trains, false, c);
  kept_detail::keeper const keep(q);
  return keep.leaving(l.mix, again, trains, parts) + keep.leaving(l.feed, again, trains, parts);
}

kept_activations kept_of_layer(question const& q, layer const& l, recomputation again,
                               gradient_kind takes, offloaded parts, bool gathered, constants const& c) {
  if (takes == gradient_kind::none) return {};
  if (measured_layer const* const m = measured_on(l, q.layout.tensor, q.cluster.kinds.front().name)) {
    bool const runs_again = has(again, recomputation::full);
    kept_activations made{.bytes = q.layout.micro_batch * (runs_again ? m->output : m->kept)};
    made.whole = runs_again ? q.layout.micro_batch * m->kept : 0;
    made.leaving = has(parts, offloaded::all) ? made.bytes : 0;
    made.largest = made.leaving;
    return made;
  }
  // Products of weights in 8 bits keep their inputs as trained ones do.
  bool const trains =
      takes == gradient_kind::all || (q.model.lora.pack() && q.model.lora.frozen == packing::bits_8);
  double const tokens = q.micro_batch_tokens();
  kept_activations made{.bytes = kept_bytes(q, l, again, trains, gathered, c) * tokens};
  if (has(again, recomputation::full)) {
    made.whole = made.bytes;
    made.bytes = kept_detail::handed_bytes(q) * q.model.hidden * tokens / kept_detail::keeper(q).split();
    made.leaving = has(parts, offloaded::all) ? made.bytes : 0;
  } else {
    // Recomputed scores of one layer are negligible.
    recomputation const scores =
        has(again, recomputation::attention) ? recomputation::attention : recomputation::none;
    made.whole = kept_bytes(q, l, scores, trains, gathered, c) * tokens - made.bytes;
    made.leaving = leaving_bytes(q, l, again, trains, parts, c) * tokens;
  }
  made.largest = made.leaving;
  return made;
}

std::vector<kept_activations> kept_by_stage(question const& q, std::vector<stage> const& stages,
                                            bool gathered, constants const& c) {
  // Each kind of layer has an entry for: recomputed or not, offloaded or not, kind of gradients.
  std::vector<kept_activations> of_kind;
  auto const of = [&](layer const& l, recomputation again, gradient_kind takes, offloaded parts) {
    return kept_of_layer(q, l, again, takes, parts, gathered, c);
  };
  for (layer const& l : q.model.kinds)
    for (recomputation again : {recomputation::none, q.layout.recompute})
      for (offloaded parts : {offloaded::none, q.layout.offload.parts})
        for (gradient_kind takes : {gradient_kind::all, gradient_kind::inputs, gradient_kind::none})
          of_kind.push_back(of(l, again, takes, parts));
  kept_activations const predictor =
      of(q.model.predictor, q.layout.recompute_in_predictor(), gradient_kind::all,
         q.layout.offload.in.are_all() ? q.layout.offload.parts : offloaded::none);
  int const first_trained = q.model.first_trained();
  std::vector<kept_activations> all;
  for (stage const& s : stages) {
    kept_activations here;
    for (int i = s.first; i < s.first + s.count; ++i) {
      auto const kind = static_cast<std::size_t>(q.model.layers[static_cast<std::size_t>(i)]);
      auto const takes = static_cast<std::size_t>(q.model.gradients_of(i, first_trained));
      here.add(of_kind[12 * kind + (q.layout.recompute_in.have(i, s.first) ? 6 : 0)
                       + (q.layout.offload.in.have(i, s.first) ? 3 : 0) + takes]);
    }
    for (int i = 0; i < s.predictions; ++i) here.add(predictor);
    for (std::size_t i = 0; i < q.model.towers.size() && s.has_embedding; ++i)
      here.add(kept_of_tower(q, i, gathered, c));
    all.push_back(here);
  }
  return all;
}

}  // namespace ashlar::cost
