// The sums over the parts of a tree of operators, and where a series may be cut.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/plan/operators.hpp>
#include <ashlar/plan/series_parallel.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Sums over the parts of a series, from the first on; where it may be cut.
struct series_table {
  std::vector<operator_cost> until;
  std::vector<tick> message;  // before each part, the longest of an edge that crosses there
  std::vector<int> next_cut;  // the first place from here on where it may be cut
};

class part_sums {
 public:
  constexpr part_sums() = default;
  constexpr part_sums(operator_model const& model, part_tree const& tree, byte_count bandwidth,
                      int samples)
      : bandwidth_(bandwidth), samples_(samples), sum_(tree.parts.size()), tables_(tree.parts.size()) {
    prepare(model, tree);
  }

  constexpr operator_cost const& of(int part) const { return nth(sum_, part); }
  constexpr series_table const& series(int part) const { return nth(tables_, part); }

  // Ticks of all messages of a step on one edge.
  constexpr tick message_time(operator_cost const& c) const {
    return bandwidth_ == 0 ? 0 : (c.output * samples_ + bandwidth_ - 1) / bandwidth_;
  }

  // Cuts where no edge takes longer.
  constexpr void find_cuts(tick time) {
    for (series_table& t : tables_) {
      t.next_cut.assign(t.message.size(), 0);
      int next = static_cast<int>(t.message.size()) - 1;
      for (std::size_t i = t.message.size(); i-- > 0;) {
        if (t.message[i] <= time) next = static_cast<int>(i);
        t.next_cut[i] = next;
      }
    }
  }

 private:
  constexpr void prepare(operator_model const& model, part_tree const& tree) {
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
          longest = max_of(longest, message_time(nth(model.cost, o)));
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

  byte_count bandwidth_ = 0;
  int samples_ = 1;
  std::vector<operator_cost> sum_;    // by part
  std::vector<series_table> tables_;  // by part, of series
};

}  // namespace ashlar
