#include <ashlar/cost/model/adapted_matrices.hpp>
#include <ashlar/cost/model/weight_matrices.hpp>

namespace ashlar::cost {

namespace weight_matrices_detail {

inline adapted operator-(adapted all, adapted part) {
  return static_cast<adapted>(static_cast<unsigned>(all) & ~static_cast<unsigned>(part));
}

inline std::vector<weight_matrix> of_adapters(architecture const& a, layer const& l) {
  std::vector<weight_matrix> all;
  double const rank = a.lora.rank;
  for (auto const& part : {adapted_matrices(a, l.mix), adapted_matrices(a, l.feed)})
    for (adapted_matrix const& each : part) {
      all.push_back({.rows = rank, .columns = each.in});
      all.push_back({.rows = each.out, .columns = rank});
    }
  return all;
}

}  // namespace weight_matrices_detail

std::vector<weight_matrix> weight_matrices(architecture const& a, layer const& l) {
  using weight_matrices_detail::operator-;
  if (a.lora.are_any()) return weight_matrices_detail::of_adapters(a, l);
  constexpr adapted queries_keys = adapted::queries | adapted::keys,
                    separate = queries_keys | adapted::values, gates = adapted::gates | adapted::up;
  adapted rest = every_matrix;
  if (a.update.fuses_queries) rest = (rest - separate) | adapted::queries_keys_values;
  if (a.update.fuses_gates) rest = (rest - gates) | adapted::gates_up;
  std::vector<weight_matrix> all;
  auto const add = [&all](std::vector<adapted_matrix> const& matrices, bool is_by_heads) {
    for (adapted_matrix const& each : matrices)
      all.push_back({.rows = each.out, .columns = each.in, .is_by_heads = is_by_heads});
  };
  bool const has_heads = l.mix.kind == mixer_kind::attention && !a.update.fuses_queries;
  if (has_heads) add(matrices_of(a, l.mix, queries_keys), true);
  add(matrices_of(a, l.mix, has_heads ? rest - queries_keys : rest), false);
  add(matrices_of(a, l.feed, rest), false);
  if (l.feed.kind != feed_forward_kind::experts) return all;
  double const in = l.feed.latent > 0 ? l.feed.latent : a.hidden;
  all.push_back({.rows = l.feed.experts, .columns = a.hidden});
  all.push_back({.rows = (l.feed.is_gated ? 2 : 1) * l.feed.expert_width,
                 .columns = in,
                 .count = l.feed.experts,
                 .is_expert = true});
  all.push_back(
      {.rows = in, .columns = l.feed.expert_width, .count = l.feed.experts, .is_expert = true});
  return all;
}

bool knows_weight_matrices(architecture const& a) {
  for (layer const& l : a.kinds) {
    if (!l.measured.empty()) return false;
    if (a.lora.are_any()) continue;
    double const all = layer_matrices(a, l, l.feed.experts) - l.feed.experts * l.feed.beside_expert;
    double listed = 0;
    for (weight_matrix const& each : weight_matrices(a, l)) listed += each.parameters();
    if (listed < all - 0.5 || listed > all + 0.5) return false;
  }
  return true;
}

}  // namespace ashlar::cost
