#include <ashlar/cost/question/towers.hpp>
#include <ashlar/cost/step/operators.hpp>

namespace ashlar::cost {

std::vector<operator_product> operator_products(question const& q, layer const& l) {
  double const h = q.model.hidden, t = q.layout.tensor;
  mixer const& m = l.mix;
  feed_forward const& f = l.feed;
  std::vector<operator_product> all;
  adapters const& lora = q.model.lora;
  auto const add = [&](double out, double in) { all.push_back({out, in, all.size() % 2 == 0}); };
  // An adapter's two products follow the frozen one.
  auto const add_adapted = [&](adapted which, double out, double in) {
    add(out, in);
    if (!lora.are_any() || !has(lora.of, which)) return;
    add(lora.rank, in);
    add(out, lora.rank);
    all.back().added = out;
  };
  adapted const fused = adapted::queries_keys_values;
  if (m.kind == mixer_kind::attention) {
    add_adapted(adapted::queries | fused, (m.has_gate ? 2 : 1) * m.heads * m.head / t, h);
    add_adapted(adapted::keys | fused, m.groups * m.head / t, h);
    add_adapted(adapted::values | fused, m.groups * m.head / t, h);
    add_adapted(adapted::result, h, m.heads * m.head / t);
  } else if (m.kind == mixer_kind::compressed) {
    double const queries = m.heads * (m.nope + m.rope) / t;
    if (m.q_rank > 0) add_adapted(adapted::queries_down, m.q_rank, h);
    add_adapted(m.q_rank > 0 ? adapted::queries_up : adapted::queries, queries,
                m.q_rank > 0 ? m.q_rank : h);
    add_adapted(adapted::keys_values_down, m.kv_rank + m.rope, h);
    add_adapted(adapted::keys_values_up, m.heads * (m.nope + m.value_head) / t, m.kv_rank);
    add_adapted(adapted::result, h, m.heads * m.value_head / t);
  }
  if (mixer const& x = l.cross; x.kind != mixer_kind::none) {
    double const read = q.model.cross_width(),
                 of_keys = cross_keys(q.model, q.sequence) / q.sequence * x.groups * x.head / t;
    add((x.has_gate ? 2 : 1) * x.heads * x.head / t, h);
    add(of_keys, read);
    add(of_keys, read);
    add(h, x.heads * x.head / t);
  }
  if (f.kind == feed_forward_kind::dense) {
    if (f.is_gated) add_adapted(adapted::gates | adapted::gates_up, f.width / t, h);
    add_adapted(adapted::up | adapted::gates_up, f.width / t, h);
    add_adapted(adapted::down, h, f.width / t);
  }
  return all;
}

}  // namespace ashlar::cost
