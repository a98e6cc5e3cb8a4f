// Whether gradients that work takes from their accumulators are taken one micro-batch at a time and
// given back. Schedules and programs share this check.
#pragma once

#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/model/work.hpp>

#include <cstddef>
#include <cstdint>

namespace ashlar {

// Goes through the passes of each device in their order. O(1) per pass, after O(stages * micro-batches)
// per device.
class taken_gradients {
 public:
  // Refers to the work.
  constexpr taken_gradients(work_view const& work, int stage_count, int micro_batch_count)
      : work_(work), micro_batches_(micro_batch_count) {
    bool any = false;
    for (int job = 0; job < work.job_count(); ++job) any = any || work.gradient_of(job) != no_gradient{};
    if (any) stages_ = dynamic_array<stage_state>(static_cast<std::size_t>(stage_count));
  }

  // Whether no job uses a gradient, so that there is nothing to check.
  constexpr bool empty() const { return stages_.empty(); }

  // Comes before the passes of a device: nothing has been added, taken or given back there.
  constexpr void begin_device() {
    for (std::size_t stage = 0; stage < stages_.size(); ++stage)
      stages_[stage] = {.works = work_.takes_gradient(static_cast<int>(stage))};
    taken_ = dynamic_array<char>(stages_.size() * static_cast<std::size_t>(micro_batches_));
  }

  // Visits the next pass of the device, which exists. Broken rules: rule::taken_gradient_is_given_back,
  // rule::gradient_is_taken_before_more_is_added, rule::work_uses_what_exists for an unknown stage.
  constexpr diagnosis visit(site const& where) {
    if (is_part(where.what)) return visit_work(where);
    if (!gives_weight_gradient(where.what.kind)) return {};
    stage_state& s = of(where.what.stage);
    if (!s.works) return {};
    if (s.has_added)
      return {.broken = rule::gradient_is_taken_before_more_is_added, .first = where, .second = s.added};
    if (s.is_given)
      return {.broken = rule::taken_gradient_is_given_back, .first = s.given, .second = where};
    s.has_added = true;
    s.added = where;
    return {};
  }

  // Reduces the stage's gradient: rule::taken_gradient_is_given_back unless all that was added has been
  // taken and given back.
  constexpr diagnosis reduce(site const& where, int stage) {
    stage_state const& s = of(stage);
    if (!s.works || s.is_given || (!s.has_added && !s.has_taken)) return {};
    return {.broken = rule::taken_gradient_is_given_back, .first = where, .second = s.last_taken};
  }

  // Comes after the passes of a device: rule::gradient_is_taken_before_more_is_added and
  // rule::taken_gradient_is_given_back for the rest.
  constexpr diagnosis end_device() const {
    for (stage_state const& s : stages_) {
      if (s.has_added) return {.broken = rule::gradient_is_taken_before_more_is_added, .first = s.added};
      if (s.has_taken && !s.is_given)
        return {.broken = rule::taken_gradient_is_given_back, .first = s.last_taken};
    }
    return {};
  }

 private:
  struct stage_state {
    bool works = false;  // is its gradient taken?
    bool has_added = false, has_taken = false, is_given = false;
    site added = {}, last_taken = {}, given = {};
  };

  constexpr stage_state& of(int stage) { return nth(stages_, stage); }
  constexpr char& is_taken(int stage, int micro_batch) {
    return nth(taken_, std::int64_t{stage} * micro_batches_ + micro_batch);
  }

  constexpr bool share_state(site const& a, site const& b) const {
    int const first = part_of(a.what).job, second = part_of(b.what).job;
    return work_.uses_state(first) && work_.uses_state(second)
           && work_.state_of(first) == work_.state_of(second);
  }

  constexpr diagnosis visit_work(site const& where) {
    return work_.gradient_of(part_of(where.what).job)
        .visit([](no_gradient) { return diagnosis{}; },
               [&](auto const& use) {
                 if (use.stage < static_cast<int>(stages_.size())) return visit_gradient(where, use);
                 return diagnosis{
                     .broken = rule::work_uses_what_exists, .first = where, .number = use.stage};
               });
  }

  constexpr diagnosis visit_gradient(site const& where, take_gradient use) {
    stage_state& s = of(use.stage);
    int const k = part_of(where.what).part;
    if (!s.has_added || s.added.what.micro_batch != k)
      return {.broken = rule::gradient_is_taken_before_more_is_added,
              .first = where,
              .second = s.has_added ? s.added : s.last_taken};
    s.has_added = false;
    s.has_taken = true;
    s.last_taken = where;
    is_taken(use.stage, k) = 1;
    return {};
  }
  constexpr diagnosis visit_gradient(site const& where, read_gradient use) {
    stage_state const& s = of(use.stage);
    int const k = part_of(where.what).part;
    if (k >= micro_batches_) return {};
    // The gradient would go into the state that was given back, too late to be part of it.
    if (is_taken(use.stage, k) == 0 || (s.is_given && share_state(where, s.given)))
      return {.broken = rule::taken_gradient_is_given_back, .first = where, .second = s.given};
    return {};
  }
  constexpr diagnosis visit_gradient(site const& where, give_gradient use) {
    stage_state& s = of(use.stage);
    if (s.has_added || !s.has_taken || s.is_given)
      return {.broken = rule::taken_gradient_is_given_back,
              .first = where,
              .second = s.has_added ? s.added : s.given};
    s.is_given = true;
    s.given = where;
    return {};
  }

  work_view work_;
  int micro_batches_;
  dynamic_array<stage_state> stages_;
  dynamic_array<char> taken_;  // by stage and micro-batch
};

// Checks that work takes only a stage's own whole gradient (rule::taken_gradient_is_whole): no device
// knows the norm of a sum over stages, or of a shard.
constexpr diagnosis check_taken_gradients(work_view const& work, sharding_level sharding,
                                          parameter_groups const& groups) {
  for (int job = 0; job < work.job_count(); ++job) {
    diagnosis const found = work.gradient_of(job).visit(
        [](no_gradient) { return diagnosis{}; },
        [&](auto const& use) {
          bool shares = false;
          for (int group = groups.everyone() - 1; group >= 0; --group)
            for (int stage : groups.stages(group))
              shares = shares || (stage == use.stage && groups.stages(group).size() > 1);
          if (sharding == sharding_level::none && !shares) return diagnosis{};
          return diagnosis{.broken = rule::taken_gradient_is_whole,
                           .first = {.device = work.part({job, 0}).device, .what = part_id{job, 0}},
                           .number = use.stage};
        });
    if (!found.ok()) return found;
  }
  return {};
}

}  // namespace ashlar
