#include <ashlar/cost/model/adapted_matrices.hpp>

#include <vector>

namespace ashlar::cost {

std::vector<adapted_matrix> matrices_of(architecture const& a, mixer const& m, adapted among) {
  std::vector<adapted_matrix> all;
  auto const add = [&](adapted which, double in, double out) {
    if (has(among, which)) all.push_back({in, out});
  };
  double const h = a.hidden, queries = (m.has_gate ? 2 : 1) * m.heads * m.head, keys = m.groups * m.head;
  if (m.kind == mixer_kind::attention) {
    add(adapted::queries, h, queries);
    add(adapted::keys, h, keys);
    add(adapted::values, h, keys);
    add(adapted::queries_keys_values, h, queries + 2 * keys);
    add(adapted::result, m.heads * m.head, h);
  } else if (m.kind == mixer_kind::compressed) {
    double const wide = m.heads * (m.nope + m.rope);
    if (m.q_rank > 0) {
      add(adapted::queries_down, h, m.q_rank);
      add(adapted::queries_up, m.q_rank, wide);
    } else {
      add(adapted::queries, h, wide);
    }
    add(adapted::keys_values_down, h, m.kv_rank + m.rope);
    add(adapted::keys_values_up, m.kv_rank, m.heads * (m.nope + m.value_head));
    add(adapted::result, m.heads * m.value_head, h);
  }
  return all;
}

std::vector<adapted_matrix> matrices_of(architecture const& a, feed_forward const& f, adapted among) {
  std::vector<adapted_matrix> all;
  double const h = a.hidden, width = f.kind == feed_forward_kind::dense ? f.width : f.shared_width;
  if (f.kind == feed_forward_kind::none || !(width > 0)) return all;
  auto const add = [&](adapted which, double in, double out) {
    if (has(among, which)) all.push_back({in, out});
  };
  if (f.is_gated) add(adapted::gates, h, width);
  add(adapted::up, h, width);
  add(adapted::gates_up, h, (f.is_gated ? 2 : 1) * width);
  add(adapted::down, width, h);
  return all;
}

std::vector<adapted_matrix> adapted_matrices(architecture const& a, mixer const& m) {
  return matrices_of(a, m, a.lora.of);
}

std::vector<adapted_matrix> adapted_matrices(architecture const& a, feed_forward const& f) {
  return matrices_of(a, f, a.lora.of);
}

double adapter_parameters(adapters const& lora, adapted_matrix const& m) {
  double const low = lora.rank * (m.in + m.out);
  switch (lora.kind) {
    case adapter_kind::magnitudes:
      return low + m.out;
    case adapter_kind::singular_values:
      return low + lora.rank;
    case adapter_kind::rotations:  // a block is made from what is above its diagonal
      return m.in * (lora.rank - 1) / 2;
    case adapter_kind::low_rank:
      break;
  }
  return low;
}

double adapter_parameters(architecture const& a, layer const& l) {
  double sum = 0;
  for (auto const& part : {adapted_matrices(a, l.mix), adapted_matrices(a, l.feed)})
    for (adapted_matrix const& each : part) sum += adapter_parameters(a.lora, each);
  return sum;
}

double head_adapter_parameters(architecture const& a) {
  return has(a.lora.of, adapted::head) ? adapter_parameters(a.lora, {a.embedding_width(), a.vocabulary})
                                       : 0;
}

double adapter_parameters(architecture const& a) {
  if (!a.lora.are_any()) return 0;
  must_know_layers(a);
  double adapters = head_adapter_parameters(a);
  for (int i = 0; i < a.layer_count(); ++i) adapters += adapter_parameters(a, a.at(i));
  return adapters;
}

double adapter_products(architecture const& a, layer const& l) {
  if (a.lora.kind != adapter_kind::rotations) return adapter_parameters(a, l);
  double sum = 0;
  for (auto const& part : {adapted_matrices(a, l.mix), adapted_matrices(a, l.feed)})
    for (adapted_matrix const& each : part) sum += a.lora.rank * each.in;
  return sum;
}

double adapter_products(architecture const& a) {
  if (!a.lora.are_any() || a.lora.kind != adapter_kind::rotations) return adapter_parameters(a);
  must_know_layers(a);
  double sum = 0;
  for (int i = 0; i < a.layer_count(); ++i) sum += adapter_products(a, a.at(i));
  return sum;
}

}  // namespace ashlar::cost
