#include <ashlar/cost/step/operators.hpp>

namespace ashlar::cost {

std::vector<operator_product> operator_products(question const& q, layer const& l) {
  double const h = q.model.hidden, t = q.layout.tensor;
  mixer const& m = l.mix;
  feed_forward const& f = l.feed;
  std::vector<operator_product> all;
  auto const add = [&](double out, double in) { all.push_back({out, in, all.size() % 2 == 0}); };
  if (m.kind == mixer_kind::attention) {
    add((m.has_gate ? 2 : 1) * m.heads * m.head / t, h);
    add(m.groups * m.head / t, h);
    add(m.groups * m.head / t, h);
    add(h, m.heads * m.head / t);
  } else if (m.kind == mixer_kind::compressed) {
    double const queries = m.heads * (m.nope + m.rope) / t;
    if (m.q_rank > 0) add(m.q_rank, h);
    add(queries, m.q_rank > 0 ? m.q_rank : h);
    add(m.kv_rank + m.rope, h);
    add(m.heads * (m.nope + m.value_head) / t, m.kv_rank);
    add(h, m.heads * m.value_head / t);
  }
  if (f.kind == feed_forward_kind::dense) {
    for (int half = 0; half < (f.is_gated ? 2 : 1); ++half) add(f.width / t, h);
    add(h, f.width / t);
  }
  return all;
}

}  // namespace ashlar::cost
