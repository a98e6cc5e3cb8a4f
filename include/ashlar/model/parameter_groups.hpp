// Who shares parameters: the replicas of a stage within the pipeline, stages that use the same weights,
// and data-parallel ranks, each of which runs the whole pipeline on other data.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/list_view.hpp>
#include <ashlar/core/lists.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/placement.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// The state that data-parallel ranks keep in shards, one each, instead of whole (the stages of ZeRO).
// `gradients` and `weights` each include `optimizer`, and `full` includes both.
enum class sharding_level : unsigned char {
  none,       // nothing: every rank has all weights, and gradients are all-reduced
  optimizer,  // optimizer state, and weights between steps: gathered once a step, gradients scattered
              // once
  gradients,  // gradients: a buffer is scattered whenever another stage needs it
  weights,    // weights: gathered into a buffer whenever a pass needs them and they are not there;
              // gradients are summed up whole and scattered once
  full,       // both
};

// When the gradients of a device are reduced.
enum class gradient_reduction : unsigned char {
  at_end,             // after its last pass
  eager,              // as soon as they are complete
  eager_middle_last,  // eagerly, except for the stages in the middle of the pipeline
};

// Whether a program ends with the optimizer's step.
enum class optimizer_step : unsigned char {
  none,        // left to the worker
  at_end,      // group by group, in the order of reduction, after the device's last pass
  after_norm,  // the same, after the squared norm of all gradients is known on every device
};

// Read-only access to the groups of a program; see parameter_groups.
struct group_view {
  lists_view<int> all_holders;  // by group, `everyone()` last
  lists_view<int> all_stages;   // by group

  constexpr int count() const { return all_stages.size(); }
  constexpr int everyone() const { return count(); }
  // The devices that hold a group, in the order in which their gradients are summed.
  constexpr list_view<int> holders(int group) const { return all_holders[group]; }
  // The stages that use the parameters of a group, in the order in which they were given.
  constexpr list_view<int> stages(int group) const { return all_stages[group]; }

  // A device's place among the holders of a group; -1 if it is none of them. Linear in the holders.
  constexpr int member_of(int group, int device) const {
    int place = 0;
    for (int d : holders(group)) {
      if (d == device) return place;
      ++place;
    }
    return -1;
  }
};

// Calls visit(group) for each group that a stage of this many uses: its own, then the shared ones.
// Linear in the lists of all shared groups, of which there are few.
template <class Visit>
constexpr void for_each_group_of(group_view const& groups, int stage_count, int stage, Visit&& visit) {
  visit(stage);
  for (int group = stage_count; group < groups.count(); ++group)
    for (int other : groups.stages(group))
      if (other == stage) visit(group);
}

// Parameters that are kept, summed and stepped as one. Group g < stages has the parameters of stage g
// alone. Each further group has parameters that several stages share (tied weights, such as an input
// embedding and the head); it is kept whole at every level of sharding. A group's holders are the
// devices that hold one of its stages, each once, in the order of (stage, route, forwards before
// backwards), which is the order in which their gradients are summed. Routes that meet on one device
// share its parameters. The group `everyone()` has no parameters, and all devices.
class parameter_groups {
 public:
  constexpr parameter_groups() = default;

  // Takes `shared`: a list of stages for each group of parameters that several stages use. Throws
  // violation: rule::counts_are_positive for an empty list, rule::every_pass_is_known for a stage that
  // is unknown or named twice in one list. O(stages * routes^2) for stages without shared parameters.
  constexpr explicit parameter_groups(placement const& where,
                                      std::vector<std::vector<int>> const& shared = {})
      : stages_(where.stage_count()) {
    for (int stage = 0; stage < stages_; ++stage) {
      add_stage(where, stage);
      end_group();
    }
    for (std::vector<int> const& group : shared) {
      if (group.empty()) refuse({.broken = rule::counts_are_positive});
      for (int stage : group) {
        bool known = stage < 0 || stage >= stages_;
        for (int const other : group_stages_.being_written()) known = known || other == stage;
        if (known) refuse({.broken = rule::every_pass_is_known, .first = {.what = {.stage = stage}}});
        add_stage(where, stage);
      }
      end_group();
    }
    for (int d = 0; d < where.device_count(); ++d) holders_.add(d);
    holders_.end_list();
  }

  // Parameter groups, without `everyone()`.
  constexpr int count() const { return group_stages_.size(); }
  constexpr int everyone() const { return count(); }
  // These are the view's.
  constexpr list_view<int> holders(int group) const { return view().holders(group); }
  constexpr list_view<int> stages(int group) const { return view().stages(group); }
  constexpr int member_of(int group, int device) const { return view().member_of(group, device); }

  // Calls visit(group) for each group that a stage uses, as for_each_group_of().
  template <class Visit>
  constexpr void for_each_of_stage(int stage, Visit&& visit) const {
    for_each_group_of(view(), stages_, stage, visit);
  }

  // Whether these are groups of the stages of `where`. Takes as long as the constructor.
  constexpr bool belong_to(placement const& where) const {
    return stages_ == where.stage_count() && *this == parameter_groups(where, shared());
  }

  // The lists that the groups were made from.
  constexpr std::vector<std::vector<int>> shared() const {
    std::vector<std::vector<int>> lists;
    for (int group = stages_; group < count(); ++group) {
      lists.push_back({});
      append(lists.back(), stages(group));
    }
    return lists;
  }

  // Valid while the groups are.
  constexpr group_view view() const { return {holders_.view(), group_stages_.view()}; }

  friend constexpr bool operator==(parameter_groups const&, parameter_groups const&) = default;

 private:
  constexpr void add_stage(placement const& where, int stage) {
    group_stages_.add(stage);
    auto const add = [&](int device) {
      bool known = false;
      for (int const other : holders_.being_written()) known = known || other == device;
      if (!known) holders_.add(device);
    };
    for (int route = 0; route < where.route_count(); ++route) {
      add(where.device_of(route, stage));
      if (where.moves()) add(where.backward_device_of(route, stage));
    }
  }
  constexpr void end_group() {
    group_stages_.end_list();
    holders_.end_list();
  }

  int stages_ = 0;
  written_lists<int> holders_;       // by group, `everyone()` last
  written_lists<int> group_stages_;  // by group
};

// The stages that a device holds, each once, in the order of (route, stage): its chunks.
// O(stages * routes).
constexpr std::vector<int> stages_on(placement const& where, int device) {
  std::vector<int> found;
  dynamic_array<bool> known(static_cast<std::size_t>(where.stage_count()));
  for (int route = 0; route < where.route_count(); ++route)
    for (int stage = 0; stage < where.stage_count(); ++stage) {
      if (!where.has(route, stage, device) || nth(known, stage)) continue;
      nth(known, stage) = true;
      found.push_back(stage);
    }
  return found;
}

// Whether a stage is the middle one of a pipeline, or one of the middle two. There the two directions of
// a bidirectional pipeline meet. The devices that hold these stages compute longest without a gap, so an
// early reduction finds nothing to hide behind.
constexpr bool is_middle(int stage, int stage_count) {
  std::int64_t const off = std::int64_t{2} * stage - (std::int64_t{stage_count} - 1);
  return off >= -1 && off <= 1;
}

// A part of a buffer, in bytes.
struct byte_range {
  std::size_t begin = 0;
  std::size_t size = 0;

  friend constexpr bool operator==(byte_range const&, byte_range const&) = default;
};

// The shard of a buffer that one of the ranks keeps: nearly equal parts, in order of rank, cut at
// multiples of 8 bytes so that no element is cut. `rank` is one of 0 .. ranks-1.
constexpr byte_range shard_of(std::size_t bytes, int rank, int ranks) {
  std::size_t const words = bytes / 8, r = static_cast<std::size_t>(ranks),
                    q = static_cast<std::size_t>(rank);
  auto const cut = [&](std::size_t n) { return 8 * (words / r * n + words % r * n / r); };
  std::size_t const end = rank + 1 == ranks ? bytes : cut(q + 1);
  return {cut(q), end - cut(q)};
}

}  // namespace ashlar
