// From the parts of passes to their times, alone and as pairs.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/braid.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/pass_costs.hpp>
#include <ashlar/core/pass_parts.hpp>
#include <ashlar/core/refuse.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// The parts of the stages' passes; a single entry is of all stages.
struct part_costs {
  std::vector<stage_parts> stages = {};
  braiding how = braiding::best;

  friend constexpr bool operator==(part_costs const&, part_costs const&) = default;
};

// Checks that there are stages, one or as many as given (0: any number), and no part of negative
// duration.
constexpr diagnosis check(part_costs const& c, int stage_count = 0) {
  auto const count = static_cast<int>(c.stages.size());
  if (count == 0 || (count != 1 && stage_count != 0 && count != stage_count))
    return wrong_size(table::stage_costs, count, max_of(stage_count, 1));
  for (int stage = 0; stage < count; ++stage)
    for (pass_kind const kind : {pass_kind::forward, pass_kind::backward}) {
      stage_parts const& s = c.stages[static_cast<std::size_t>(stage)];
      for (pass_part const& part : kind == pass_kind::forward ? s.forward : s.backward)
        if (part.duration < 0)
          return {.broken = rule::no_duration_is_negative,
                  .first = {.what = {kind, stage, 0}},
                  .number = part.duration};
    }
  return {};
}

// The steps that braids of all pairs of these stages take at least: of the shortest, a place of a table
// for each two parts.
constexpr std::int64_t braid_sizes(part_costs const& c, std::vector<std::size_t> const& which) {
  std::int64_t forward = 0, backward = 0;
  for (std::size_t const stage : which) {
    forward += static_cast<std::int64_t>(c.stages[stage].forward.size());
    backward += static_cast<std::int64_t>(c.stages[stage].backward.size());
  }
  if (c.how == braiding::best) return forward * backward;
  return static_cast<std::int64_t>(which.size()) * (forward + backward);
}

// The most stages whose pairs are told apart: their table takes 24 bytes for each two.
inline constexpr int most_paired_stages = 1 << 11;

// The costs of stages from their parts. A pass alone takes the sum of its parts, a forward and a
// backward (fused, input or weight) of any two stages take their braid's time. Throws violation:
// check(c), rule::parameter_is_at_most for more than most_paired_stages, and for braids of more than
// most_braid_size, or most_braid_sizes together. O(s^2) braids for s stages that differ.
constexpr pass_costs costs_of(part_costs const& c) {
  if (diagnosis const d = check(c); !d.ok()) refuse(d);
  must_be(
      at_most(parameter::stage_count, static_cast<std::int64_t>(c.stages.size()), most_paired_stages));
  std::vector<stage_cost> each;
  for (stage_parts const& s : c.stages) each.push_back(cost_of(s));
  pass_costs made = static_cast<std::vector<stage_cost>&&>(each);
  std::size_t const count = c.stages.size(), kinds = 3;
  std::vector<std::size_t> like, first_ones;  // the first stage of the same parts, and each such stage
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t first = 0;
    while (!(c.stages[first] == c.stages[i])) ++first;
    like.push_back(first);
    if (first == i) first_ones.push_back(i);
  }
  must_be(at_most(parameter::braid_size, braid_sizes(c, first_ones), most_braid_sizes));
  std::vector<tick> pairs;
  for (std::size_t ahead = 0; ahead < count; ++ahead)
    for (std::size_t back = 0; back < count; ++back)
      for (std::size_t k = 0; k < kinds; ++k) {
        if (like[ahead] == ahead && like[back] == back)
          pairs.push_back(braided(c.stages[ahead].forward,
                                  parts_of(c.stages[back], pair_costs::backwards[k]), c.how));
        else
          pairs.push_back(pairs[(like[ahead] * count + like[back]) * kinds + k]);
      }
  made.overlapped =
      pair_costs::by_stage(static_cast<std::vector<tick>&&>(pairs), static_cast<int>(count));
  return made;
}

// Whether the passes of `stage_count` stages take the sums of these parts. Pairs may take any time.
constexpr bool are_sums_of(pass_costs const& passes, part_costs const& c, int stage_count) {
  if (!check(c, stage_count).ok()) return false;
  int const count = max_of(passes.stages(), static_cast<int>(c.stages.size()));
  for (int stage = 0; stage < count; ++stage) {
    std::size_t const of = c.stages.size() == 1 ? 0 : static_cast<std::size_t>(stage);
    stage_cost const sum = cost_of(c.stages[of]);
    for (int k = 0; k < passes.period(); ++k) {
      stage_cost const& own = passes.of(stage, k);
      if (own.forward != sum.forward || own.backward_input != sum.backward_input
          || own.backward_weight != sum.backward_weight || own.of(pass_kind::recompute) != sum.forward)
        return false;
    }
  }
  return true;
}

// Repeats the parts of a layer `count` times; the backward goes through the layers from the last.
// Throws violation{rule::parameter_is_at_most} for more than most_passes.
constexpr stage_parts repeated(stage_parts const& layer, int count) {
  must_be(at_most(parameter::layer_count, count,
                  static_cast<std::int64_t>(most_passes)
                      / max_of<std::int64_t>(
                          1, static_cast<std::int64_t>(layer.forward.size() + layer.backward.size()))));
  stage_parts all;
  for (int i = 0; i < count; ++i) {
    all.forward.insert(all.forward.end(), layer.forward.begin(), layer.forward.end());
    all.backward.insert(all.backward.end(), layer.backward.begin(), layer.backward.end());
  }
  return all;
}

}  // namespace ashlar
