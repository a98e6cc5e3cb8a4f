#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/model/adapted_matrices.hpp>
#include <ashlar/cost/model/adapter_forms.hpp>

#include <vector>

namespace ashlar::cost {

std::vector<adapted_matrix> matrices_of(architecture const& a, mixer const& m, adapted among) {
  std::vector<adapted_matrix> all;
  auto const add = [&](adapted which, double in, double out) {
    if (has(among, which)) all.push_back({in, out, which});
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
    if (has(among, which)) all.push_back({in, out, which});
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

namespace adapted_matrices_detail {

// The forms of a layer's adapters.
inline std::vector<adapter_form> forms(architecture const& a, layer const& l) {
  std::vector<adapter_form> all;
  for (auto const& part : {adapted_matrices(a, l.mix), adapted_matrices(a, l.feed)})
    for (adapted_matrix const& each : part) all.push_back(form_of(a.lora, each));
  return all;
}

}  // namespace adapted_matrices_detail

double adapter_parameters(adapters const& lora, adapted_matrix const& m) {
  return form_of(lora, m).parameters;
}

double adapter_parameters(architecture const& a, layer const& l) {
  double sum = 0;
  for (adapter_form const& each : adapted_matrices_detail::forms(a, l)) sum += each.parameters;
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

double adapter_held_bytes(architecture const& a) {
  if (!a.lora.are_any()) return 0;
  must_know_layers(a);
  double sum = 0, in = 0, out = 0;
  for (int i = 0; i < a.layer_count(); ++i)
    for (adapter_form const& each : adapted_matrices_detail::forms(a, a.at(i))) sum += each.held;
  for (layer const& l : a.kinds)
    for (auto const& part : {adapted_matrices(a, l.mix), adapted_matrices(a, l.feed)})
      for (adapted_matrix const& each : part) {
        in = max_of(in, each.in);
        out = max_of(out, each.out);
      }
  return sum + shared_bytes(a.lora, in, out);
}

double adapter_bytes_at_work(architecture const& a) {
  double most = 0;
  for (layer const& l : a.kinds)
    for (adapter_form const& each : adapted_matrices_detail::forms(a, l))
      most = max_of(most, each.at_work);
  return most;
}

double adapter_products(architecture const& a, layer const& l) {
  double sum = 0;
  for (adapter_form const& form : adapted_matrices_detail::forms(a, l))
    for (adapter_product const& each : form.products)
      if (each.m == 0) sum += each.count * each.n * each.k * passes_of(each) / 3;
  return sum;
}

double adapter_products(architecture const& a) {
  if (!a.lora.are_any()) return 0;
  must_know_layers(a);
  double sum = head_adapter_parameters(a);
  for (int i = 0; i < a.layer_count(); ++i) sum += adapter_products(a, a.at(i));
  return sum;
}

}  // namespace ashlar::cost
