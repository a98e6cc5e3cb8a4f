// A graph as a tree of series and parallel parts.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/model/stage_graph.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

enum class part_kind : unsigned char { single, series, parallel };

// One operator; parts one after another, of which each has operators or branches; or branches beside
// each other, of which each is a series.
struct graph_part {
  part_kind kind = part_kind::single;
  int single = -1;
  std::vector<int> parts;    // by number in the tree
  std::vector<int> members;  // all operators, ascending
};

// The parts of a graph: the whole is the series `root`. Every operator of a part of a series comes
// before every one of the next, as paths go. `is_exact` if all these paths are there; else some parts
// that are no such tree were cut in two by their levels, as if all of the first came before all of the
// second.
struct part_tree {
  std::vector<graph_part> parts;
  int root = -1;
  bool is_exact = true;

  constexpr graph_part const& of(int part) const { return nth(parts, part); }
};

// Finds the tree by the order that paths make (Valdes, Tarjan and Lawler, 1982, for orders): parts that
// no path joins are parallel; parts of which each comes before the next are a series. O(n^2) for each
// level of the tree.
class tree_builder {
 public:
  constexpr explicit tree_builder(stage_graph const& graph)
      : graph_(graph), count_(static_cast<std::size_t>(graph.count())), before_(count_ * count_, 0) {
    for (int to = 0; to < graph.count(); ++to)
      for (int from : graph.predecessors(to)) {
        auto const f = static_cast<std::size_t>(from), t = static_cast<std::size_t>(to);
        before_[f * count_ + t] = 1;
        for (std::size_t o = 0; o < f; ++o)
          if (before_[o * count_ + f] != 0) before_[o * count_ + t] = 1;
      }
  }

  constexpr part_tree run() {
    std::vector<int> all;
    for (int o = 0; o < graph_.count(); ++o) all.push_back(o);
    tree_.root = as_series(all);
    return std::move(tree_);
  }

 private:
  constexpr bool comes_before(int a, int b) const {
    return before_[static_cast<std::size_t>(a) * count_ + static_cast<std::size_t>(b)] != 0;
  }

  constexpr int add(part_kind kind, std::vector<int> members) {
    tree_.parts.push_back({.kind = kind, .parts = {}, .members = std::move(members)});
    return static_cast<int>(tree_.parts.size()) - 1;
  }

  // Groups of members that are joined by a chain of pairs, each of which is (or is not) in order.
  constexpr std::vector<std::vector<int>> joined(std::vector<int> const& members, bool in_order) const {
    std::vector<std::vector<int>> groups;
    std::vector<int> rest = members;
    while (!rest.empty()) {
      std::vector<int> group(1, rest.front()), left;
      rest.erase(rest.begin());
      for (std::size_t i = 0; i < group.size(); ++i) {
        left.clear();
        for (int other : rest) {
          bool const ordered = comes_before(group[i], other) || comes_before(other, group[i]);
          (ordered == in_order ? group : left).push_back(other);
        }
        rest.swap(left);
      }
      sort(group);
      groups.push_back(std::move(group));
    }
    return groups;
  }
  static constexpr void sort(std::vector<int>& list) {  // nearly sorted: by insertion
    for (std::size_t i = 1; i < list.size(); ++i)
      for (std::size_t j = i; j > 0 && list[j] < list[j - 1]; --j) std::swap(list[j], list[j - 1]);
  }

  constexpr int as_series(std::vector<int> const& members) {
    int const series = add(part_kind::series, members);
    append_to(series, members);
    return series;
  }

  // The parts of a series, one after another.
  constexpr void append_to(int series, std::vector<int> const& members) {
    if (members.size() == 1) {
      int const single = add(part_kind::single, members);
      nth(tree_.parts, single).single = members[0];
      return push(series, single);
    }
    std::vector<std::vector<int>> groups = joined(members, true);
    if (groups.size() > 1) {
      int const parallel = add(part_kind::parallel, members);
      push(series, parallel);
      for (std::vector<int> const& branch : groups) push(parallel, as_series(branch));
      return;
    }
    groups = joined(members, false);
    if (groups.size() == 1) groups = halves(members);
    // Numbers ascend along edges, and of two groups one is before the other.
    for (std::size_t i = 1; i < groups.size(); ++i)
      for (std::size_t j = i; j > 0 && comes_before(groups[j][0], groups[j - 1][0]); --j)
        groups[j].swap(groups[j - 1]);
    for (std::vector<int> const& next : groups) append_to(series, next);
  }
  constexpr void push(int part, int next) { nth(tree_.parts, part).parts.push_back(next); }

  // The lower half of the levels, and the rest.
  constexpr std::vector<std::vector<int>> halves(std::vector<int> const& members) {
    tree_.is_exact = false;
    std::vector<int> level(members.size(), 0);
    int most = 0;
    for (std::size_t i = 0; i < members.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (comes_before(members[j], members[i])) {
          level[i] = max_of(level[i], level[j] + 1);
          most = max_of(most, level[i]);
        }
    std::vector<std::vector<int>> cut(2);
    for (std::size_t i = 0; i < members.size(); ++i)
      cut[level[i] > (most - 1) / 2 ? 1 : 0].push_back(members[i]);
    return cut;
  }

  stage_graph const& graph_;
  std::size_t count_;
  std::vector<char> before_;
  part_tree tree_;
};

constexpr part_tree series_parallel(stage_graph const& graph) { return tree_builder(graph).run(); }

}  // namespace ashlar
