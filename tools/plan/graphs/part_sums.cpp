#include <ashlar/core/algorithm.hpp>
#include <ashlar/plan/graphs/part_sums.hpp>

#include <cstddef>

namespace ashlar {

void part_sums::find_cuts(tick time) {
  for (series_table& t : tables_) {
    t.next_cut.assign(t.message.size(), 0);
    int next = static_cast<int>(t.message.size()) - 1;
    for (std::size_t i = t.message.size(); i-- > 0;) {
      if (t.message[i] <= time) next = static_cast<int>(i);
      t.next_cut[i] = next;
    }
  }
}

void part_sums::prepare(operator_model const& model, part_tree const& tree) {
  std::vector<int> place(model.cost.size(), -1);
  for (std::size_t number = 0; number < tree.parts.size(); ++number) {
    graph_part const& part = tree.parts[number];
    for (int o : part.members) sum_[number].add(nth(model.cost, o));
    if (part.kind != part_kind::series) continue;
    series_table& t = tables_[number];
    t.until.resize(1);
    t.message.assign(part.parts.size() + 1, 0);
    for (std::size_t i = 0; i < part.parts.size(); ++i)
      for (int o : tree.of(part.parts[i]).members) nth(place, o) = static_cast<int>(i);
    for (int o : part.members) {
      int last = nth(place, o);
      for (int after : model.graph.successors(o)) last = max_of(last, nth(place, after));
      for (int cut = nth(place, o) + 1; cut <= last; ++cut) {
        tick& longest = nth(t.message, cut);
        longest = max_of(longest, messages_of(nth(model.cost, o)));
      }
    }
    for (int o : part.members) nth(place, o) = -1;
  }
  for (std::size_t number = 0; number < tree.parts.size(); ++number)
    for (int part : tree.parts[number].parts)
      if (tree.parts[number].kind == part_kind::series) {
        std::vector<operator_cost>& until = tables_[number].until;
        operator_cost next = until.back();
        next.add(nth(sum_, part));
        until.push_back(next);
      }
}

}  // namespace ashlar
