#include <ashlar/cost/model/adapted_matrices.hpp>
#include <ashlar/cost/model/tower_parameters.hpp>
#include <ashlar/cost/step/held_parameters.hpp>

#include <cstddef>

namespace ashlar::cost {

namespace held_parameters_detail {

// Norms and biases are on every tensor rank.
inline parameter_counts counts_of(architecture const& a, layout const& sizes, layer const& l) {
  parameter_counts made;
  for (measured_layer const& each : l.measured) {  // of one rank already
    if (each.tensor != sizes.tensor) continue;
    made.dense = each.parameters;
    return made;
  }
  double split = mixer_matrices(a, l.mix) + cross_matrices(a, l.cross);
  if (l.feed.kind == feed_forward_kind::dense) split += dense_matrices(a, l.feed, l.feed.width);
  if (l.feed.kind == feed_forward_kind::experts) {
    split += beside_expert_matrices(a, l.feed);
    made.expert = expert_parameters(a, l.feed, l.feed.experts) / sizes.expert / sizes.expert_tensor;
  }
  made.dense = split / sizes.tensor + l.mix.beside + l.cross.beside + l.feed.beside;
  return made;
}

inline void add(parameter_counts const& counts, gradient_kind takes, held_parameters& held) {
  held.all.add(counts);
  if (takes == gradient_kind::all) held.trained.add(counts);
  if (takes != gradient_kind::none) held.backward.add(counts);
}

// Products beside the layers are on every tensor rank.
inline void add_tower(architecture const& a, std::size_t number, layout sizes, held_parameters& held) {
  tower const& t = a.towers[number];
  if (t.is_undivided) sizes.tensor = 1;
  architecture const own = architecture_of(a, t);
  gradient_kind const takes = a.gradients_of_tower(number);
  for (int i = 0; i < own.layer_count(); ++i) {
    add(counts_of(own, sizes, own.at(i)), takes, held);
    if (own.lora.are_any())
      add({.dense = adapter_parameters(own, own.at(i)) / sizes.tensor}, gradient_kind::all, held);
  }
  double beside = t.beside;
  for (tower_product const& each : t.products) beside += each.parameters();
  add({.dense = beside}, takes, held);
  if (a.lora.are_any() && t.trains_by == beside_adapters::copy) {
    architecture as_read = a;
    as_read.lora = {};
    as_read.towers[number].is_frozen = true;
    add_tower(as_read, number, sizes, held);
  }
}

// Parameters of a kind are updated, and no others.
inline void update_alone(architecture const& a, layout const& sizes, stage const& s,
                         held_parameters& held) {
  parameter_counts own{.dense = s.has_head ? beside_updated_alone(a) : 0};
  for (int i = s.first; i < s.first + s.count; ++i) {
    layer const& l = a.at(i);
    own.dense += layer_updated_alone(a, l);
    own.expert += l.feed.experts * expert_updated_alone(a, l.feed) / sizes.expert / sizes.expert_tensor;
  }
  if (a.has_other_gradients)
    held.unused = {.dense = held.trained.dense - own.dense, .expert = held.trained.expert - own.expert};
  held.trained = own;
}

}  // namespace held_parameters_detail

held_parameters held_by_stage(architecture const& a, layout const& sizes, stage const& s) {
  using held_parameters_detail::add;
  held_parameters held;
  int const first_trained = a.first_trained();
  for (int i = s.first; i < s.first + s.count; ++i)
    add(held_parameters_detail::counts_of(a, sizes, a.at(i)), a.gradients_of(i, first_trained), held);
  for (int i = s.first; i < s.first + s.count && a.lora.are_any(); ++i) {
    add({.dense = adapter_parameters(a, a.at(i)) / sizes.tensor}, gradient_kind::all, held);
    held.packed.add(packed_in(a, a.at(i), sizes.tensor));
  }
  if (s.predictions > 0) {
    double const own = a.repeats ? 1 : s.predictions;
    parameter_counts one = held_parameters_detail::counts_of(a, sizes, a.predictor);
    one.dense = own * (one.dense + 2 * a.hidden * a.hidden / sizes.tensor);
    one.expert *= own;
    add(one, gradient_kind::all, held);
  }
  parameter_counts const table{.dense = padded_vocabulary(a, sizes.tensor) * a.embedding_width()
                                        / sizes.tensor},
      head{.dense = head_rows(a, sizes.tensor) * head_columns(a)};
  for (std::size_t i = 0; i < a.towers.size() && s.has_embedding; ++i)
    held_parameters_detail::add_tower(a, i, sizes, held);
  if (s.has_embedding) add(table, a.trains_embedding() ? gradient_kind::all : gradient_kind::none, held);
  // peft trains a copy of a table, and keeps the table.
  if (a.lora.are_any()) {
    if (s.has_embedding && a.trains_embedding()) add(table, gradient_kind::none, held);
    if (s.has_head && a.trains_head()) add(head, gradient_kind::none, held);
  }
  if (s.has_head && a.lora.are_any())
    add({.dense = head_adapter_parameters(a) / sizes.tensor}, gradient_kind::all, held);
  if (s.has_head && a.lora.pack() && a.lora.packs_head && !a.is_tied)
    held.packed.add(packed_matrix(a.lora, head.dense, head_rows(a, sizes.tensor)));
  if (s.has_head && !(a.is_tied && s.has_embedding))
    add(head, a.trains_head() ? gradient_kind::all : gradient_kind::inputs, held);
  if (a.alone != updated_alone::none) held_parameters_detail::update_alone(a, sizes, s, held);
  held.state = state_of_stage(a, sizes, s, held.trained);
  return held;
}

held_parameters held_by_stages(architecture const& model, layout const& sizes,
                               std::vector<stage> const& stages, std::vector<int> const& numbers) {
  held_parameters held;
  for (int s : numbers) held.add(held_by_stage(model, sizes, stages[static_cast<std::size_t>(s)]));
  return held;
}

}  // namespace ashlar::cost
