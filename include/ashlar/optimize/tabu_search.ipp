// Definitions of tabu_search.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/optimize/delay_block.hpp>
#include <ashlar/optimize/iterated_local_search.hpp>
#include <ashlar/optimize/periodic_extension.hpp>
#include <ashlar/optimize/start_order.hpp>
#include <ashlar/optimize/tabu_search.hpp>

namespace ashlar {

ASHLAR_INLINE tabu_search::tabu_search(justifier& search, memory_limit const& limit)
    : search_(&search), graph_(search.passes(), search.of()), moves_(graph_, search.of(), limit) {
  std::size_t size = 1;
  while (size < most_entries && size < 64 * search.passes().what.size()) size *= 2;
  forbidden_until_.resize(size, 0);
}

ASHLAR_INLINE void tabu_search::run(list_scheduler::solution const& from) {
  std::vector<tick> released(from.orders.size(), 0);
  // A span counts from where its device starts, a makespan from where the first one does.
  bool const by_device = search_->aim() != objective::makespan && search_->aim() != objective::program;
  for (std::size_t d = 0; by_device && d < released.size(); ++d)
    if (!from.orders[d].empty()) released[d] = nth(from.start, from.orders[d].front());
  graph_.set(from, released);
  moves_.reset();
  best_ = from.orders;
  least_ = graph_.longest();
  clock_ += shortest_ban + most_longer;
  for (int idle = 0; idle < most_idle && !is_over(); ++idle, ++clock_) {
    if (!step()) break;
    if (graph_.longest() >= least_) continue;
    least_ = graph_.longest();
    best_ = graph_.orders();
    idle = 0;
  }
  charge();
}

ASHLAR_INLINE bool tabu_search::is_over() {
  if (uncharged() < static_cast<std::int64_t>(search_->passes().what.size())) return false;
  charge();
  return search_->is_over();
}

ASHLAR_INLINE bool tabu_search::step() {
  graph_.critical_path([&](std::size_t n) { return search_->random(n); }, path_);
  best_moves_.clear();
  forbidden_moves_.clear();
  best_estimate_ = max_tick;
  for (std::size_t begin = 0, end = 0; begin < path_.size(); begin = end) {
    std::size_t const device = graph_.device_of(path_[begin]);
    for (end = begin + 1; end < path_.size() && graph_.device_of(path_[end]) == device;) ++end;
    offer_ends(device, graph_.position_of(path_[begin]), graph_.position_of(path_[end - 1]));
  }
  dynamic_array<insertion_move> const& moves = best_moves_.empty() ? forbidden_moves_ : best_moves_;
  if (moves.empty()) return false;
  insertion_move const m = moves[search_->random(moves.size())];
  forbid_reversal(m);
  moves_.apply(m);
  return true;
}

ASHLAR_INLINE void tabu_search::offer_ends(std::size_t device, std::size_t first, std::size_t last) {
  for (std::size_t far = 1; far <= reach && first + far <= last; ++far)
    for (bool const is_later : {true, false}) {
      if (far == 1 && !is_later) continue;  // the same
      offer({device, first, first + far, is_later});
      if (first + far < last) offer({device, last - far, last, is_later});
    }
}

ASHLAR_INLINE void tabu_search::offer(insertion_move const& m) {
  if (!moves_.allows(m)) return;
  tick const estimate = moves_.estimate(m);
  if (estimate >= least_ && is_forbidden(m)) {
    forbidden_moves_.push_back(m);
    return;
  }
  if (estimate < best_estimate_) best_moves_.clear();
  best_estimate_ = min_of(best_estimate_, estimate);
  if (estimate == best_estimate_) best_moves_.push_back(m);
}

ASHLAR_INLINE void tabu_search::for_each_turned(insertion_move const& m,
                                                function_ref<void(int, int)> f) const {
  std::vector<int> const& order = graph_.orders()[m.device];
  for (std::size_t i = m.first; i < m.last; ++i)
    if (m.is_later)
      f(order[i + 1], order[m.first]);
    else
      f(order[m.last], order[i]);
}

ASHLAR_INLINE bool tabu_search::is_forbidden(insertion_move const& m) {
  bool forbidden = false;
  for_each_turned(m, [&](int x, int y) { forbidden = forbidden || entry(x, y) > clock_; });
  return forbidden;
}

ASHLAR_INLINE std::int64_t& tabu_search::entry(int x, int y) {
  std::uint32_t const hash =
      static_cast<std::uint32_t>(x) * 2654435761U ^ static_cast<std::uint32_t>(y) * 40503U;
  return forbidden_until_[hash % forbidden_until_.size()];
}

ASHLAR_INLINE void iterated_tabu_search(justifier& search, memory_limit const& limit) {
  if (!search.found()) return;
  list_scheduler::solution now = search.best();
  tick const work = work_of_one(search.of());
  justification_options how;
  how.skewed = true;
  how.rounds = 2;
  tabu_search tabu(search, limit);
  for (bool is_first = true; !search.is_over(); is_first = false) {
    objective_value const least = search.judge(now);
    if (!is_first) {
      tick const cutoff = is_long(search.of()) ? least.first + least.first / 64 : max_tick;
      std::vector<tick> targets = now.start;
      local_search_detail::perturb(search, now, work, targets);
      objective_value const reached =
          search.justify(in_start_order(now.orders, targets), any_justification(search, 1), cutoff);
      if (reached == objective_value{} || reached.first > cutoff) continue;
      if (reached <= least) now = search.reached();
    }
    tabu.run(is_first ? now : search.reached());
    if (search.justify(tabu.best(), how) <= least) now = search.reached();
  }
}

}  // namespace ashlar
