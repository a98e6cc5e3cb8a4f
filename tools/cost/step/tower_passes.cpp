#include <ashlar/cost/question/towers.hpp>
#include <ashlar/cost/step/tower_passes.hpp>
#include <ashlar/cost/step/work.hpp>

#include <vector>

namespace ashlar::cost {

namespace towers_detail {

inline layer_work product_work(question const& q, tower const& t, std::size_t number) {
  tower_product const& p = t.products[number];
  double const rows = 1.0 * q.layout.micro_batch * t.inputs * t.rows_of(p, q.sequence);
  layer_work w;
  w.products.push_back({.m = rows, .n = p.columns, .k = p.inner, .is_low = false});
  w.parts = 1;
  if (number + 1 == t.products.size() || p.is_of_activations) return w;
  // An activation follows each but the last behind the layers.
  double const moved = value_bytes(q.program.format) * rows * p.columns;
  w.forward_bytes = 2 * moved;
  w.backward_bytes = 3 * moved;
  return w;
}

}  // namespace towers_detail

stage_passes passes_of_tower(question const& q, std::size_t number, constants const& c) {
  tower const& t = q.model.towers[number];
  gradient_kind const takes = q.model.gradients_of_tower(number);
  question const own = tower_question(q, t);
  stage_passes all;
  auto const add = [&](stage_passes const& part, double times) {
    all.forward.add(part.forward, times);
    all.backward.add(part.backward, times);
  };
  std::vector<double> again(t.kinds.size(), 0.0), once(t.kinds.size(), 0.0);  // layers of each kind
  for (int i = 0; i < own.model.layer_count(); ++i) {
    auto const kind = static_cast<std::size_t>(t.layers[static_cast<std::size_t>(i)]);
    ++(own.layout.recompute_in.have(i, 0) ? again : once)[kind];
  }
  for (std::size_t k = 0; k < t.kinds.size(); ++k) {
    if (again[k] > 0) add(passes_of_layer(own, t.kinds[k], own.layout.recompute, takes, c), again[k]);
    if (once[k] > 0) add(passes_of_layer(own, t.kinds[k], recomputation::none, takes, c), once[k]);
  }
  for (std::size_t i = 0; i < t.products.size(); ++i) {
    stage_passes part = passes_of_work(own, {}, towers_detail::product_work(q, t, i), c);
    if (t.products[i].is_of_activations) part.backward.weights = 0;  // of both operands
    double const weights = part.backward.weights;
    if (takes != gradient_kind::all) part.backward.leave_out_weights();
    if (takes == gradient_kind::none) part.backward = {};
    if (takes == gradient_kind::all && reads_untrained(q.model, number, i))
      part.backward.products = weights;
    add(part, 1);
  }
  return all;
}

kept_activations kept_of_tower(question const& q, std::size_t number, bool gathered,
                               constants const& c) {
  tower const& t = q.model.towers[number];
  gradient_kind const takes = q.model.gradients_of_tower(number);
  kept_activations made;
  if (takes == gradient_kind::none) return made;
  question const own = tower_question(q, t);
  for (int i = 0; i < own.model.layer_count(); ++i)
    made.add(kept_of_layer(
        own, own.model.at(i),
        own.layout.recompute_in.have(i, 0) ? own.layout.recompute : recomputation::none, takes,
        own.layout.offload.in.have(i, 0) ? own.layout.offload.parts : offloaded::none, gathered, c));
  double elements = 0;  // of an input
  for (std::size_t i = 0; i < t.products.size(); ++i) {
    tower_product const& p = t.products[i];
    if (p.is_of_activations) continue;  // results of others, which are kept
    double const read = takes == gradient_kind::all ? p.inner : 0,
                 result = i + 1 < t.products.size() ? p.columns : 0;
    elements += t.rows_of(p, q.sequence) * (read + result);
  }
  made.bytes += value_bytes(q.program.format) * own.layout.micro_batch * elements;
  return made;
}

}  // namespace ashlar::cost
