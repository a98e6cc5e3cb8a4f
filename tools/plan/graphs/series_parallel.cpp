#include <ashlar/core/algorithm.hpp>
#include <ashlar/plan/graphs/series_parallel.hpp>

namespace ashlar {

tree_builder::tree_builder(stage_graph const& graph)
    : graph_(graph), count_(static_cast<std::size_t>(graph.count())), before_(count_ * count_, 0) {
  for (int to = 0; to < graph.count(); ++to)
    for (int from : graph.predecessors(to)) {
      auto const f = static_cast<std::size_t>(from), t = static_cast<std::size_t>(to);
      before_[f * count_ + t] = 1;
      for (std::size_t o = 0; o < f; ++o)
        if (before_[o * count_ + f] != 0) before_[o * count_ + t] = 1;
    }
}

part_tree tree_builder::run() {
  std::vector<int> all;
  for (int o = 0; o < graph_.count(); ++o) all.push_back(o);
  tree_.root = as_series(all);
  return std::move(tree_);
}

std::vector<std::vector<int>> tree_builder::joined(std::vector<int> const& members,
                                                   bool in_order) const {
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

int tree_builder::as_series(std::vector<int> const& members) {
  int const series = add(part_kind::series, members);
  append_to(series, members);
  return series;
}

void tree_builder::append_to(int series, std::vector<int> const& members) {
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

std::vector<std::vector<int>> tree_builder::halves(std::vector<int> const& members) {
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

}  // namespace ashlar
