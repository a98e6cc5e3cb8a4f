#include <ashlar/core/nth.hpp>
#include <ashlar/plan/training/layer_division.hpp>
#include <ashlar/plan/training/partition.hpp>

#include <cstddef>

namespace ashlar::plan_detail {

// Assigns layers one by one: each to the device of `eligible` that then has the least load, and there to
// the smallest stage (the first of several). layer[d] is the time of a layer on device d. O(layers x
// devices).
void assign_layers(int layer_count, std::vector<double> const& layer, std::vector<int> const& eligible,
                   placement const& where, std::vector<double>& load, std::vector<int>& sizes) {
  auto const at = [](int i) { return static_cast<std::size_t>(i); };
  for (; layer_count > 0; --layer_count) {
    int least = eligible[0];
    for (int d : eligible) {
      double const then = load[at(d)] + layer[at(d)], so_far = load[at(least)] + layer[at(least)];
      if (then < so_far || (!(so_far < then) && load[at(d)] < load[at(least)])) least = d;
    }
    load[at(least)] += layer[at(least)];
    int smallest = -1;
    for (int stage = 0; stage < where.stage_count(); ++stage)
      if (where.device_of(0, stage) == least && (smallest < 0 || sizes[at(stage)] < sizes[at(smallest)]))
        smallest = stage;
    ++sizes[at(smallest)];
  }
}

std::vector<double> loads_of(std::vector<int> const& sizes, std::vector<double> const& layer,
                             double head, placement const& where) {
  std::vector<double> load(static_cast<std::size_t>(where.device_count()), 0.0);
  for (int stage = 0; stage < where.stage_count(); ++stage) {
    auto const d = static_cast<std::size_t>(where.device_of(0, stage));
    load[d] += nth(sizes, stage) * layer[d] + (stage + 1 == where.stage_count() ? head : 0);
  }
  return load;
}

}  // namespace ashlar::plan_detail

namespace ashlar {

std::vector<int> balanced_division(int layer_count, std::vector<double> const& layer, double head,
                                   placement const& where) {
  int const stage_count = where.stage_count();
  if (layer_count < stage_count) return uniform_partition(layer_count, stage_count);
  std::vector<int> sizes = uniform_partition(stage_count, stage_count), eligible;
  std::vector<double> load = plan_detail::loads_of(sizes, layer, head, where);
  for (int d = 0; d < where.device_count(); ++d) eligible.push_back(d);
  plan_detail::assign_layers(layer_count - stage_count, layer, eligible, where, load, sizes);
  return sizes;
}

std::vector<int> balanced_division(int layer_count, double layer, double head, placement const& where) {
  return balanced_division(layer_count,
                           std::vector<double>(static_cast<std::size_t>(where.device_count()), layer),
                           head, where);
}

std::vector<int> shifted_division(std::vector<int> const& sizes, int more, std::vector<int> const& group,
                                  std::vector<double> const& layer, double head,
                                  placement const& where) {
  auto const at = [](int i) { return static_cast<std::size_t>(i); };
  std::vector<char> in(at(where.device_count()), 0);
  for (int d : group) in[at(d)] = 1;
  std::vector<int> made(sizes.size(), 1), others;
  int rest = 0;
  for (int stage = 0; stage < where.stage_count(); ++stage) {
    rest += sizes[at(stage)];
    if (in[at(where.device_of(0, stage))] != 0) made[at(stage)] = sizes[at(stage)] + more;
    if (made[at(stage)] < 1) return {};
    rest -= made[at(stage)];
  }
  for (int d = 0; d < where.device_count(); ++d)
    if (in[at(d)] == 0) others.push_back(d);
  if (rest < 0 || others.empty()) return {};
  std::vector<double> load = plan_detail::loads_of(made, layer, head, where);
  plan_detail::assign_layers(rest, layer, others, where, load, made);
  return made;
}

std::vector<int> balanced_division(std::vector<double> const& layers, int stage_count) {
  cut_costs c{.layer = layers,
              .volume = std::vector<double>(layers.size(), 0.0),
              .link = std::vector<double>(static_cast<std::size_t>(stage_count), 0.0),
              .repeats = 1};
  return best_partition(c, stage_count);
}

}  // namespace ashlar
