// Sums over the parts of a tree of operators, and the places where a series may be cut.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/plan/graphs/operators.hpp>
#include <ashlar/plan/graphs/series_parallel.hpp>

#include <vector>

namespace ashlar {

// Sums over the parts of a series, from the first on, and the places where it may be cut.
struct series_table {
  std::vector<operator_cost> until;
  std::vector<tick> message;  // the longest message of an edge that crosses before each part
  std::vector<int> next_cut;  // the first place from here on where a cut is allowed
};

// Tables that give the cost of any part in constant time.
class part_sums {
 public:
  constexpr part_sums() = default;
  // `bandwidth`: bytes per tick between stages, 0 if messages take no time; `samples`: of a step.
  part_sums(operator_model const& model, part_tree const& tree, byte_count bandwidth, int samples)
      : bandwidth_(bandwidth), samples_(samples), sum_(tree.parts.size()), tables_(tree.parts.size()) {
    prepare(model, tree);
  }

  // The cost of all operators of a part; and the tables of a part that is a series.
  operator_cost const& of(int part) const { return nth(sum_, part); }
  series_table const& series(int part) const { return nth(tables_, part); }

  // Ticks of all messages of a step on one edge.
  tick messages_of(operator_cost const& c) const {
    return message_time(c.output * samples_, bandwidth_);
  }

  // Allows cuts where no edge takes longer than `time`.
  void find_cuts(tick time);

 private:
  void prepare(operator_model const& model, part_tree const& tree);

  byte_count bandwidth_ = 0;
  int samples_ = 1;
  std::vector<operator_cost> sum_;    // by part
  std::vector<series_table> tables_;  // by part, of series
};

}  // namespace ashlar
