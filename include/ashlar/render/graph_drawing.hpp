// The places of a graph's stages in a picture: in layers by their paths, in an order that avoids
// crossings. Sugiyama, Tagawa and Toda, Methods for Visual Understanding of Hierarchical System
// Structures (1981): layers, points where edges pass through them, and rows by the mean of neighbours.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/model/stage_graph.hpp>

#include <cstddef>
#include <vector>

namespace ashlar::render_detail {

// Layers are numbered from the stages without predecessors; rows lie around 0.
class graph_drawing {
 public:
  // A place in the picture.
  struct point {
    int layer = 0;
    double row = 0;
  };

  // Places the stages.
  explicit graph_drawing(stage_graph const& graph);

  // The place of a stage.
  point const& of(int stage) const { return nth(points_, stage); }
  // All points on each edge, both ends included, in the order of the graph's edges.
  std::vector<std::vector<point>> edges() const;
  std::size_t layer_count() const { return layers_.size(); }
  std::size_t row_count() const;

 private:
  point& at(int number) { return nth(points_, number); }

  void put(int number, int layer);

  // Adds a point in each layer between the two.
  std::vector<int> edge_through(int stage, int after);

  // Orders each layer by the rows of its neighbours in the layer before (or after).
  void sweep(bool down);

  std::vector<point> points_;                // of the stages, then those on edges
  std::vector<std::vector<int>> layers_;     // points by row
  std::vector<std::vector<int>> from_, to_;  // neighbours in the layer before and after
  std::vector<std::vector<int>> edges_;
};

}  // namespace ashlar::render_detail

#ifndef ASHLAR_COMPILED
#include <ashlar/render/graph_drawing.ipp>
#endif
