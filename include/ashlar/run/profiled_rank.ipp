// Definitions of profiled_rank.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/run/profiled_rank.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace ashlar {

namespace profile_detail {

using pass_name = std::tuple<pass_kind, int, int>;

ASHLAR_INLINE std::map<pass_name, int> counts(profiled_rank const& one) {
  std::map<pass_name, int> all;
  for (profiled_pass const& p : one.passes) all[{p.what.kind, p.what.stage, p.what.micro_batch}]++;
  return all;
}

}  // namespace profile_detail

ASHLAR_INLINE void leave_out_waits(std::vector<profiled_rank>& ranks) {
  std::map<std::pair<pass_kind, int>, std::int64_t> least;
  for (profiled_rank const& one : ranks)
    for (profiled_pass const& p : one.passes)
      if (!one.on_gpu) {
        auto const [at, first] = least.try_emplace({p.what.kind, p.what.stage}, p.start - p.begin);
        if (!first) at->second = std::min(at->second, p.start - p.begin);
      }
  for (profiled_rank& one : ranks)
    for (profiled_pass& p : one.passes)
      if (!one.on_gpu) p.start -= least.at({p.what.kind, p.what.stage});
}

ASHLAR_INLINE int whole_steps(std::vector<profiled_rank> const& ranks) {
  int steps = -1;
  for (profiled_rank const& one : ranks)
    for (auto const& [name, count] : profile_detail::counts(one)) {
      if (steps >= 0 && steps != count) return 0;
      steps = count;
    }
  return std::max(0, steps);
}

ASHLAR_INLINE std::vector<profiled_rank> one_of_each(std::vector<profiled_rank> const& ranks) {
  std::vector<profiled_rank> chosen;
  std::vector<std::map<profile_detail::pass_name, int>> known;
  for (profiled_rank const& one : ranks) {
    auto passes = profile_detail::counts(one);
    if (std::find(known.begin(), known.end(), passes) != known.end()) continue;
    known.push_back(std::move(passes));
    chosen.push_back(one);
  }
  merge_sort(chosen, [](auto const& a, auto const& b) { return a.rank < b.rank; });
  return chosen;
}

}  // namespace ashlar
