// A graph as a tree of series and parallel parts.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/model/stage_graph.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// One operator, parts one after another, or branches side by side.
enum class part_kind : unsigned char { single, series, parallel };

// One operator; or parts one after another, each of operators or branches; or branches side by side,
// each a series.
struct graph_part {
  part_kind kind = part_kind::single;
  int single = -1;
  std::vector<int> parts;    // by number in the tree
  std::vector<int> members;  // all operators, ascending
};

// The parts of a graph: the whole is the series `root`. Paths lead from every operator of a part of a
// series to every one of the next if `is_exact`. Otherwise some parts that form no such tree were cut in
// two by their levels, as if all of the first came before all of the second.
struct part_tree {
  std::vector<graph_part> parts;
  int root = -1;
  bool is_exact = true;

  // A part by its number.
  graph_part const& of(int part) const { return nth(parts, part); }
};

// Finds the tree from the order of paths (Valdes, Tarjan and Lawler, 1982, for orders): parts that no
// path joins are parallel; parts that each come before the next are a series. O(n^2) for each level of
// the tree.
class tree_builder {
 public:
  // Refers to the graph.
  explicit tree_builder(stage_graph const& graph);

  part_tree run();

 private:
  bool comes_before(int a, int b) const {
    return before_[static_cast<std::size_t>(a) * count_ + static_cast<std::size_t>(b)] != 0;
  }

  int add(part_kind kind, std::vector<int> members) {
    tree_.parts.push_back({.kind = kind, .parts = {}, .members = std::move(members)});
    return static_cast<int>(tree_.parts.size()) - 1;
  }

  // Groups of members that are connected by pairs in order (or by pairs not in order).
  std::vector<std::vector<int>> joined(std::vector<int> const& members, bool in_order) const;
  static void sort(std::vector<int>& list) {  // nearly sorted: by insertion
    for (std::size_t i = 1; i < list.size(); ++i)
      for (std::size_t j = i; j > 0 && list[j] < list[j - 1]; --j) std::swap(list[j], list[j - 1]);
  }

  int as_series(std::vector<int> const& members);

  // Appends members to a series as parts, one after another.
  void append_to(int series, std::vector<int> const& members);
  void push(int part, int next) { nth(tree_.parts, part).parts.push_back(next); }

  // Splits members into the lower half of the levels, and the rest.
  std::vector<std::vector<int>> halves(std::vector<int> const& members);

  stage_graph const& graph_;
  std::size_t count_;
  std::vector<char> before_;
  part_tree tree_;
};

// The tree of series and parallel parts of a graph.
inline part_tree series_parallel(stage_graph const& graph) { return tree_builder(graph).run(); }

}  // namespace ashlar
