#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/model/adapted_matrices.hpp>
#include <ashlar/cost/model/architecture.hpp>
#include <ashlar/cost/model/tower_parameters.hpp>
#include <ashlar/cost/model/unpredictable.hpp>

#include <cstddef>
#include <utility>

namespace ashlar::cost {

void architecture::add(layer const& l) {
  std::size_t kind = 0;
  while (kind < kinds.size() && !(kinds[kind] == l)) ++kind;
  if (kind == kinds.size()) kinds.push_back(l);
  layers.push_back(static_cast<int>(kind));
}

bool architecture::freezes_any() const {
  for (tower const& t : towers)
    if (t.is_frozen) return true;
  return !(frozen == frozen_parts{}) || alone != updated_alone::none;
}

int architecture::first_trained() const {
  if (lora.are_any() || alone != updated_alone::none || trains_embedding()) return 0;
  for (tower const& t : towers)
    if (trains(t)) return 0;
  int first = 0;
  while (first < layer_count() && frozen.has_layer(first)) ++first;
  return first;
}

gradient_kind architecture::gradients_of(int layer, int first_trained) const {
  if (!frozen.has_layer(layer)) return gradient_kind::all;
  return first_trained <= layer ? gradient_kind::inputs : gradient_kind::none;
}

bool architecture::has_experts() const {
  for (layer const& l : kinds)
    if (l.feed.kind == feed_forward_kind::experts) return true;
  return false;
}

bool architecture::has_state_space() const {
  for (layer const& l : kinds)
    if (l.mix.kind == mixer_kind::state_space) return true;
  return false;
}

bool architecture::has_indexers() const {
  for (layer const& l : kinds)
    if (l.mix.chosen > 0) return true;
  return false;
}

bool architecture::has_encoder() const {
  for (layer const& l : kinds)
    if (l.mix.sees_all) return true;
  return false;
}

bool architecture::has_cross_attention() const {
  for (layer const& l : kinds)
    if (l.cross.kind != mixer_kind::none) return true;
  return false;
}

bool architecture::has_measured_layers() const {
  for (layer const& l : kinds)
    if (!l.measured.empty()) return true;
  return false;
}

measured_layer const* measured_on(layer const& l, int tensor, std::string const& device) {
  for (measured_layer const& each : l.measured)
    if (each.tensor == tensor && (each.device.empty() || each.device == device)) return &each;
  return nullptr;
}

architecture slowest_measured(architecture a, std::vector<std::string> const& devices) {
  for (layer& l : a.kinds) {
    std::vector<measured_layer> all;
    for (measured_layer const& each : l.measured) {
      bool is_one = each.device.empty();
      for (std::string const& name : devices) is_one = is_one || name == each.device;
      if (!is_one) continue;
      measured_layer* so_far = nullptr;
      for (measured_layer& other : all)
        if (other.tensor == each.tensor) so_far = &other;
      if (so_far == nullptr) {
        all.push_back(each);
        all.back().device.clear();
        continue;
      }
      for (double measured_layer::*figure :
           {&measured_layer::forward, &measured_layer::backward, &measured_layer::attends_forward,
            &measured_layer::attends_backward, &measured_layer::parameters, &measured_layer::kept,
            &measured_layer::output})
        so_far->*figure = max_of(so_far->*figure, each.*figure);
    }
    l.measured = std::move(all);
  }
  return a;
}

double index_matrices(architecture const& a, mixer const& m) {
  if (m.kind != mixer_kind::compressed || !(m.index_heads > 0)) return 0;
  double const read = m.q_rank > 0 ? m.q_rank : a.hidden;
  return read * m.index_heads * m.index_head + a.hidden * (m.index_head + m.index_heads);
}

double mixer_matrices(architecture const& a, mixer const& m) {
  double const h = a.hidden;
  switch (m.kind) {
    case mixer_kind::attention:
      return (m.has_gate ? 3 : 2) * h * m.heads * m.head + 2 * h * m.groups * m.head;
    case mixer_kind::compressed: {
      double const wide = m.heads * (m.nope + m.rope);
      double const queries = m.q_rank > 0 ? h * m.q_rank + m.q_rank * wide : h * wide;
      return queries + h * (m.kv_rank + m.rope) + m.kv_rank * m.heads * (m.nope + m.value_head)
             + m.heads * m.value_head * h + index_matrices(a, m);
    }
    case mixer_kind::state_space:
      if (m.rank > 0) return 3 * h * m.inner + m.inner * (m.rank + 2 * m.keys) + m.rank * m.inner;
      return h * (2 * m.inner + 2 * m.keys + m.steps) + m.inner * h;
    case mixer_kind::none:
      break;
  }
  return 0;
}

double dense_matrices(architecture const& a, feed_forward const& f, double width) {
  return (f.is_gated ? 3 : 2) * a.hidden * width;
}

double expert_parameters(architecture const& a, feed_forward const& f, double count) {
  double const in = f.latent > 0 ? f.latent : a.hidden;
  return count * ((f.is_gated ? 3 : 2) * in * f.expert_width + f.beside_expert);
}

double beside_expert_matrices(architecture const& a, feed_forward const& f) {
  return a.hidden * f.experts + 2 * a.hidden * f.latent + dense_matrices(a, f, f.shared_width);
}

double cross_key_matrices(architecture const& a, mixer const& m) {
  return m.kind == mixer_kind::none ? 0 : 2 * a.cross_width() * m.groups * m.head;
}

double cross_matrices(architecture const& a, mixer const& m) {
  double const own = m.kind == mixer_kind::none ? 0 : (m.has_gate ? 3 : 2) * a.hidden * m.heads * m.head;
  return own + cross_key_matrices(a, m);
}

double layer_matrices(architecture const& a, layer const& l, double experts) {
  double const all = mixer_matrices(a, l.mix) + cross_matrices(a, l.cross);
  switch (l.feed.kind) {
    case feed_forward_kind::dense:
      return all + dense_matrices(a, l.feed, l.feed.width);
    case feed_forward_kind::experts:
      return all + expert_parameters(a, l.feed, experts) + beside_expert_matrices(a, l.feed);
    case feed_forward_kind::none:
      break;
  }
  return all;
}

namespace architecture_detail {

inline void must_know(std::vector<int> const& layers, std::vector<layer> const& kinds) {
  for (int each : layers)
    if (each < 0 || static_cast<std::size_t>(each) >= kinds.size())
      throw unpredictable(requirement::model_is_whole, each);
}

}  // namespace architecture_detail

void must_know_layers(architecture const& a) {
  architecture_detail::must_know(a.layers, a.kinds);
  for (tower const& each : a.towers) architecture_detail::must_know(each.layers, each.kinds);
}

namespace architecture_detail {

inline double layer_all(architecture const& a, layer const& l, double experts) {
  if (!l.measured.empty()) return l.measured.front().parameters * l.measured.front().tensor;
  return layer_matrices(a, l, experts) + l.mix.beside + l.cross.beside + l.feed.beside;
}

inline double all_layers(architecture const& a, bool active) {
  double sum = 0;
  for (int i = 0; i < a.layer_count(); ++i)
    sum += layer_all(a, a.at(i), active ? a.at(i).feed.chosen : a.at(i).feed.experts);
  return sum;
}

// The layers between the first table and the head.
inline double body(architecture const& a, bool active) {
  double sum = a.beside + all_layers(a, active);
  for (tower const& each : a.towers)
    sum += active ? tower_active_parameters(a, each) : tower_parameters(a, each);
  if (a.embedding_width() < a.hidden || a.embedding_width() > a.hidden)
    sum += 2 * a.hidden * a.embedding_width();
  return sum;
}

// The embedding, and a head that is not tied to it.
inline double tables(architecture const& a) {
  return a.table_parameters() + (a.is_tied ? 0 : a.head_parameters());
}

}  // namespace architecture_detail

double expert_updated_alone(architecture const& a, feed_forward const& f) {
  return a.alone == updated_alone::biases ? f.beside_expert : 0;
}

double layer_updated_alone(architecture const& a, layer const& l) {
  if (a.alone == updated_alone::norms) return l.mix.norms + l.cross.norms + l.feed.norms;
  if (a.alone == updated_alone::biases) return l.mix.biases + l.cross.biases + l.feed.biases;
  return 0;
}

double beside_updated_alone(architecture const& a) {
  if (a.alone == updated_alone::none) return 0;
  return a.alone == updated_alone::norms ? a.norms : a.biases;
}

double prediction_parameters(architecture const& a) {
  if (a.predictions <= 0) return 0;
  double const block =
      architecture_detail::layer_all(a, a.predictor, a.predictor.feed.experts) + 2 * a.hidden * a.hidden;
  return (a.repeats ? 1 : a.predictions) * block;
}

double parameters(architecture const& a) {
  must_know_layers(a);
  return architecture_detail::body(a, false) + architecture_detail::tables(a);
}

double active_parameters(architecture const& a) {
  must_know_layers(a);
  return architecture_detail::body(a, true) + architecture_detail::tables(a);
}

double trained_parameters(architecture const& a) {
  must_know_layers(a);
  if (a.lora.are_any()) {
    double trained = adapter_parameters(a) + (a.trains_embedding() ? a.table_parameters() : 0)
                     + (a.trains_head() ? a.head_parameters() : 0);
    for (tower const& each : a.towers) trained += tower_trained_parameters(a, each);
    return trained;
  }
  if (a.alone != updated_alone::none) {
    double trained = beside_updated_alone(a);
    for (int i = 0; i < a.layer_count(); ++i)
      trained +=
          layer_updated_alone(a, a.at(i)) + a.at(i).feed.experts * expert_updated_alone(a, a.at(i).feed);
    return trained;
  }
  double frozen = 0;
  for (tower const& each : a.towers)
    frozen += tower_parameters(a, each) - tower_trained_parameters(a, each);
  for (int i = 0; i < a.layer_count(); ++i)
    if (a.frozen.has_layer(i))
      frozen += architecture_detail::layer_all(a, a.at(i), a.at(i).feed.experts);
  if (!a.trains_embedding()) frozen += a.table_parameters();
  if (!a.trains_head()) frozen += a.beside + (a.is_tied ? 0 : a.head_parameters());
  return parameters(a) - frozen;
}

}  // namespace ashlar::cost
