#include <ashlar/cost/model/adapted_matrices.hpp>
#include <ashlar/cost/model/tower_parameters.hpp>

#include <cstddef>

namespace ashlar::cost {

namespace tower_parameters_detail {

inline double beside_layers(tower const& t) {
  double sum = t.beside;
  for (tower_product const& each : t.products) sum += each.parameters();
  return sum;
}

}  // namespace tower_parameters_detail

bool architecture::trains(tower const& t) const { return tower_trained_parameters(*this, t) > 0; }

bool architecture::has_gradients_before_tower(std::size_t number) const {
  for (std::size_t i = number; i > 0 && towers[i].continues; --i)
    if (trains(towers[i - 1])) return true;
  return false;
}

gradient_kind architecture::gradients_of_tower(std::size_t number) const {
  bool const own = trains(towers[number]);
  if (own && !architecture_of(*this, towers[number]).lora.are_any()) return gradient_kind::all;
  return own || has_gradients_before_tower(number) ? gradient_kind::inputs : gradient_kind::none;
}

architecture architecture_of(architecture const& a, tower const& t) {
  architecture made;
  made.hidden = t.hidden;
  made.kinds = t.kinds;
  made.layers = t.layers;
  if (!t.is_frozen && t.trains_by == beside_adapters::own) made.lora = a.lora;
  made.lora.frozen = packing::none;
  made.lora.widens_rest = false;
  return made;
}

double tower_parameters(architecture const& a, tower const& t) {
  return parameters(architecture_of(a, t)) + tower_parameters_detail::beside_layers(t);
}

double tower_active_parameters(architecture const& a, tower const& t) {
  return active_parameters(architecture_of(a, t)) + tower_parameters_detail::beside_layers(t);
}

double tower_trained_parameters(architecture const& a, tower const& t) {
  if (t.is_frozen) return 0;
  architecture const own = architecture_of(a, t);
  if (!own.lora.are_any()) return tower_parameters(a, t);
  must_know_layers(own);
  double adapters = 0;
  for (int i = 0; i < own.layer_count(); ++i) adapters += adapter_parameters(own, own.at(i));
  return adapters;
}

}  // namespace ashlar::cost
