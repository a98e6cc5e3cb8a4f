// Definitions of graph_drawing.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/render/graph_drawing.hpp>

#include <algorithm>

namespace ashlar::render_detail {

ASHLAR_INLINE graph_drawing::graph_drawing(stage_graph const& graph)
    : points_(static_cast<std::size_t>(graph.count())) {
  for (int stage = 0; stage < graph.count(); ++stage)
    for (int before : graph.predecessors(stage))
      at(stage).layer = std::max(at(stage).layer, at(before).layer + 1);
  for (int stage = 0; stage < graph.count(); ++stage) put(stage, at(stage).layer);
  from_.resize(points_.size());
  to_.resize(points_.size());
  for (int stage = 0; stage < graph.count(); ++stage)
    for (int after : graph.successors(stage)) edges_.push_back(edge_through(stage, after));
  constexpr int sweeps = 4;
  for (int i = 0; i < sweeps; ++i) sweep(i % 2 == 0);
}

ASHLAR_INLINE std::vector<std::vector<graph_drawing::point>> graph_drawing::edges() const {
  std::vector<std::vector<point>> all;
  for (auto const& numbers : edges_) {
    all.emplace_back();
    for (int n : numbers) all.back().push_back(of(n));
  }
  return all;
}

ASHLAR_INLINE std::size_t graph_drawing::row_count() const {
  std::size_t most = 1;
  for (auto const& layer : layers_) most = std::max(most, layer.size());
  return most;
}

ASHLAR_INLINE void graph_drawing::put(int number, int layer) {
  if (layers_.size() <= static_cast<std::size_t>(layer))
    layers_.resize(static_cast<std::size_t>(layer) + 1);
  nth(layers_, layer).push_back(number);
}

ASHLAR_INLINE std::vector<int> graph_drawing::edge_through(int stage, int after) {
  std::vector<int> numbers{stage};
  for (int layer = at(stage).layer + 1; layer < at(after).layer; ++layer) {
    numbers.push_back(static_cast<int>(points_.size()));
    points_.push_back({layer, 0});
    put(numbers.back(), layer);
  }
  numbers.push_back(after);
  from_.resize(points_.size());
  to_.resize(points_.size());
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    nth(to_, numbers[i - 1]).push_back(numbers[i]);
    nth(from_, numbers[i]).push_back(numbers[i - 1]);
  }
  return numbers;
}

ASHLAR_INLINE void graph_drawing::sweep(bool down) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    auto& layer = layers_[down ? i : layers_.size() - 1 - i];
    std::vector<double> barycentre(points_.size(), 0);
    for (int n : layer) {
      auto const& near = nth((down ? from_ : to_), n);
      double sum = 0;
      for (int other : near) sum += at(other).row;
      nth(barycentre, n) = near.empty() ? at(n).row : sum / static_cast<double>(near.size());
    }
    merge_sort(layer, [&](int a, int b) { return nth(barycentre, a) < nth(barycentre, b); });
    for (std::size_t k = 0; k < layer.size(); ++k)
      at(layer[k]).row = static_cast<double>(k) - static_cast<double>(layer.size() - 1) / 2;
  }
}

}  // namespace ashlar::render_detail
