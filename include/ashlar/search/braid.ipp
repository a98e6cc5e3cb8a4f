// Definitions of braid.hpp.
#pragma once

#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/search/braid.hpp>
#include <ashlar/search/seeds.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar::search_detail {

class braider {
 public:
  braider(search_problem const& problem, objective aim, std::int64_t passes)
      : problem_(problem), aim_(aim), passes_(passes) {}

  // The schedule with all pairs that help, found in sweeps over its devices.
  void improve(schedule const& s) {
    now_ = s;
    reached_ = value(now_);
    for (bool changed = true; changed && spent_ < passes_;) {
      changed = false;
      for (std::size_t d = 0; d < now_.order.size(); ++d)
        for (std::size_t i = 0; i + 1 < now_.order[d].size() && spent_ < passes_; ++i)
          changed = pair_at(d, i) || changed;
    }
    if (best_.order.empty() || reached_ < best_reached_) {
      best_ = now_;
      best_reached_ = reached_;
    }
  }
  braided_schedule result() { return {std::move(best_), best_reached_, spent_}; }

 private:
  tick value(schedule const& s) const { return aim_ == objective::span ? span(s) : makespan(s); }

  // Whether a pair that begins at this place helps; the longest of them first.
  bool pair_at(std::size_t d, std::size_t i) {
    std::vector<time_slot> const& order = now_.order[d];
    auto const is_alone = [&](std::size_t at) { return at < order.size() && !order[at].is_pair(); };
    auto const kind = [&](std::size_t at) { return order[at].what.kind; };
    auto const are_halves = [&](std::size_t at) {
      return is_alone(at) && is_alone(at + 1) && kind(at) == pass_kind::backward_input
             && kind(at + 1) == pass_kind::backward_weight
             && order[at].what.stage == order[at + 1].what.stage
             && order[at].what.micro_batch == order[at + 1].what.micro_batch;
    };
    if (!is_alone(i)) return false;
    bool const ahead = kind(i) == pass_kind::forward;
    if (ahead && are_halves(i + 1) && takes(d, i, i, i + 1, 3)) return true;
    if (!ahead && are_halves(i) && is_alone(i + 2) && kind(i + 2) == pass_kind::forward
        && takes(d, i, i + 2, i, 3))
      return true;
    if (!is_alone(i + 1)) return false;
    std::size_t const forward = ahead ? i : i + 1, backward = ahead ? i + 1 : i;
    return kind(forward) == pass_kind::forward && is_backward(kind(backward))
           && takes(d, i, forward, backward, 2);
  }

  // Puts a forward and a backward, of which three passes are the whole of, as a pair in the place of
  // `count` passes from `first` on, if that helps.
  bool takes(std::size_t d, std::size_t first, std::size_t forward, std::size_t backward,
             std::size_t count) {
    std::vector<time_slot> const& order = now_.order[d];
    pass const ahead = order[forward].what;
    pass back = order[backward].what;
    if (count == 3) back.kind = pass_kind::backward;
    int const device = static_cast<int>(d);
    costs const& cost = now_.cost;
    if (cost.of_pair(ahead, back, device) >= cost.of(ahead, device) + cost.of(back, device))
      return false;
    schedule tried = now_;
    std::vector<time_slot>& own = tried.order[d];
    own[first] = {ahead, 0, back};
    auto const behind = own.begin() + static_cast<std::ptrdiff_t>(first) + 1;
    own.erase(behind, behind + static_cast<std::ptrdiff_t>(count) - 1);
    spent_ += static_cast<std::int64_t>(pass_count(tried));
    if (!order_walk(tried).run().ok()) return false;
    tick const then = value(tried);
    if (then > reached_ || !is_within(tried, problem_.limit)) return false;
    now_ = std::move(tried);
    reached_ = then;
    return true;
  }

  search_problem const& problem_;
  objective aim_;
  std::int64_t passes_, spent_ = 0;
  schedule now_ = {}, best_ = {};
  tick reached_ = 0, best_reached_ = 0;
};

}  // namespace ashlar::search_detail

namespace ashlar {

ASHLAR_INLINE bound braided_bound(search_problem const& problem) {
  bool const pairs = problem.cost.passes.overlapped.are_given();
  return workload_bound({.where = problem.where,
                         .micro_batch_count = problem.m.value * problem.sequence_chunks,
                         .cost = problem.cost,
                         .limit = problem.limit,
                         .sequence_chunks = problem.sequence_chunks,
                         .overlaps = pairs,
                         .overlaps_split = pairs});
}

ASHLAR_INLINE braided_schedule braid(search_problem const& problem, schedule const& s, objective aim,
                                     std::int64_t passes) {
  if (diagnosis const d = check(problem); !d.ok()) refuse(d);
  if (diagnosis const d = check(s); !d.ok()) refuse(d);
  if (diagnosis const d = check_start(problem, s); !d.ok()) refuse(d);
  search_detail::braider work(problem, aim, problem.cost.passes.overlapped.are_given() ? passes : 0);
  work.improve(s);
  if (problem.cost.passes.overlapped.are_given() && is_of_a_chain(problem)
      && recomputed_stages(problem).empty())
    for (published_schedule const& known :
         published_on(problem.where, problem.m, problem.cost, problem.sequence_chunks,
                      searched_entries::left_out, paired_entries::alone))
      if (is_within(known.made, problem.limit)) work.improve(known.made);
  return work.result();
}

}  // namespace ashlar
