#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/model/weight_matrices.hpp>
#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/optimizer_state.hpp>

#include <vector>

namespace ashlar::cost {

void optimizer_state::add(optimizer_state const& other) {
  means.add(other.means);
  squares.add(other.squares);
  projections += other.projections;
  singular_vectors += other.singular_vectors;
  largest = max_of(largest, other.largest);
}

namespace optimizer_state_detail {

// Tables of a stage that train.
inline std::vector<weight_matrix> tables_of(architecture const& a, layout const& sizes, stage const& s) {
  std::vector<weight_matrix> all;
  if (s.has_embedding && a.trains_embedding())
    all.push_back({.rows = padded_vocabulary(a, sizes.tensor), .columns = a.embedding_width()});
  if (s.has_head && a.trains_head() && !(a.is_tied && s.has_embedding))
    all.push_back({.rows = head_rows(a, sizes.tensor), .columns = head_columns(a)});
  return all;
}

// Replaces Adam's state of a matrix by that of the optimizer. Experts have one or the other for each
// of their parameters.
inline void take_matrix(architecture const& a, weight_matrix const& m, optimizer_state& state) {
  optimizer const& by = a.update;
  auto const take = [&](double squares) { state.squares.dense += squares * m.count - m.parameters(); };
  auto const project = [&](double rank) {
    double const held = rank * m.longer() * m.count;
    state.means.dense += held - m.parameters();
    take(rank * m.longer());
    state.projections += rank * m.shorter() * m.count;
  };
  switch (by.kind) {
    case optimizer_kind::muon:
      if (!m.is_expert)
        take(0);
      else if (by.takes_experts)
        state.squares.expert -= m.parameters();
      break;
    case optimizer_kind::adafactor:
      take(m.rows + m.columns);
      break;
    case optimizer_kind::adam_mini: {
      double const of_head = a.hidden * a.hidden;  // times heads, as the package counts it
      take(m.is_by_heads ? m.rows * m.columns * a.at(0).mix.heads / of_head : m.rows);
      break;
    }
    case optimizer_kind::galore:
      project(min_of(1.0 * by.rank, m.shorter()));
      state.singular_vectors += m.shorter() * m.shorter() * m.count;
      break;
    case optimizer_kind::apollo:
      project(by.rank);
      break;
    default:
      break;
  }
}

}  // namespace optimizer_state_detail

optimizer_state state_of_stage(architecture const& a, layout const& sizes, stage const& s,
                               parameter_counts const& trained) {
  using optimizer_state_detail::take_matrix;
  optimizer const& by = a.update;
  optimizer_state state{.means = trained, .squares = trained};
  if (by.kind == optimizer_kind::nothing || by.kind == optimizer_kind::squares
      || by.kind == optimizer_kind::adafactor)
    state.means = {};
  if (by.kind == optimizer_kind::nothing || by.kind == optimizer_kind::means) state.squares = {};
  if (by.kind == optimizer_kind::two_means) state.means.add(trained);
  std::vector<weight_matrix> const tables = optimizer_state_detail::tables_of(a, sizes, s);
  for (weight_matrix const& each : tables) {
    bool const has_rows = by.kind == optimizer_kind::adafactor || by.kind == optimizer_kind::adam_mini;
    if (has_rows) take_matrix(a, each, state);
    state.largest = max_of(state.largest, each.parameters());
  }
  if (!by.takes_matrices()) return state;
  int const first_trained = a.first_trained();
  for (int i = s.first; i < s.first + s.count; ++i) {
    layer const& l = a.at(i);
    if (!a.lora.are_any() && a.gradients_of(i, first_trained) != gradient_kind::all) continue;
    for (weight_matrix each : weight_matrices(a, l)) {
      if (each.is_expert) each.count /= sizes.expert;
      take_matrix(a, each, state);
      state.largest = max_of(state.largest, each.parameters());
    }
    // A norm has one square, and a bias all.
    if (by.kind == optimizer_kind::adam_mini)
      state.squares.dense -= l.mix.beside - l.mix.biases + l.feed.beside - l.feed.biases;
  }
  return state;
}

double state_bytes(optimizer_state const& state, fact_values const& facts, double ranks,
                   double expert_ranks) {
  auto const share = [&](parameter_counts const& of) {
    return of.dense / ranks + of.expert / expert_ranks;
  };
  bool const is_low = facts.main_weights() == weights_held::bits_16;
  // A view of 32 bits keeps all singular vectors; a cast to 16 bits copies those of the projection.
  double const projections =
      is_low ? 2 * state.projections : 4 * max_of(state.projections, state.singular_vectors);
  return facts.mean_bytes() * share(state.means) + facts.square_bytes() * share(state.squares)
         + projections / ranks;
}

}  // namespace ashlar::cost
