// All convex partitions of a graph of operators, to minimize the load of the busiest device.
#pragma once

#include <ashlar/plan/graphs/graph_partition.hpp>
#include <ashlar/plan/graphs/operators.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace ashlar {

// Puts stages together from the last to the first, each of any operators that feed no other than itself
// and those in stages. Of the ways to have the same operators in stages, it keeps each that no other
// beats both in devices and in samples in flight. Exponential in operators that no path joins.
class convex_partitioner {
 public:
  // Choices of a stage's operators, for each 64 of all operators, and of its size.
  static constexpr std::int64_t most_choices = 1'000'000;

  // Requires a model, machine and batch that pass check(). Refers to the model.
  convex_partitioner(operator_model const& model, operator_machine const& machine,
                     operator_batch const& batch);

  // The stages whose busiest device and longest message take the least time below `time`; none if no
  // such stages fit in memory, or none were among most_choices.
  std::vector<planned_stage> stages_below(tick time);
  // Whether all choices were tried.
  bool is_complete() const { return choices_ <= most_choices; }

 private:
  using operator_set = std::vector<std::uint64_t>;
  // An operator in a stage that is behind one in none: what its stage holds, in samples, and its size.
  struct demand {
    int of = 0;
    std::int64_t held = 0;
    int size = 0;
  };
  // Devices of the stages, what these hold, and the stage that was added last.
  struct way {
    int devices = 0;
    std::vector<demand> asks = {};
    int last = -1;
  };
  struct added_stage {
    planned_stage has;
    int next = -1;
  };
  // Operators that may be a stage before those in `done`.
  struct candidate {
    operator_set with_done = {};
    operator_cost sum = {};
    std::size_t count = 0;
  };

  // Stages whose busiest device and longest message take at most `time`.
  std::vector<planned_stage> stages_within(tick time);
  std::vector<candidate> candidates_before(operator_set const& done, tick time);
  bool is_free(int o, operator_set const& done) const;
  bool is_sent(int o, operator_set const& done) const;
  bool may_fit(operator_cost const& sum, tick time) const;
  bool holds_more(way const& one, way const& other) const;
  bool is_beaten(std::vector<way> const& all, way const& made) const;
  void keep(std::vector<way>& all, way made) const;
  // Operators of `now` and of the candidate that are behind others in no stage, with what they hold.
  std::vector<demand> asked_with(candidate const& c, operator_set const& done, way const& now,
                                 std::int64_t held, int size) const;
  // Adds what comes of the candidate as a stage before `now`, which has `done`, in each size and on the
  // fewest devices.
  void extend(candidate const& c, operator_set const& done, way const& now, tick time,
              std::vector<way>& into);

  static bool has(operator_set const& all, int o) {
    return (all[static_cast<std::size_t>(o) / 64] >> (static_cast<unsigned>(o) % 64) & 1) != 0;
  }
  static void add(operator_set& all, int o) {
    all[static_cast<std::size_t>(o) / 64] |= std::uint64_t{1} << (static_cast<unsigned>(o) % 64);
  }

  operator_model const& model_;
  operator_machine machine_;
  operator_batch batch_;
  std::vector<int> sizes_;
  std::vector<added_stage> added_;
  std::int64_t choices_ = 0;
};

}  // namespace ashlar
