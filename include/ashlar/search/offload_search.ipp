// Definitions of offload_search.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/core/splitmix.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/search/host_ladder.hpp>
#include <ashlar/search/offload_search.hpp>
#include <ashlar/search/paged_order.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar::search_detail {

// The memory that each device would hold if nothing ever left.
inline std::vector<byte_count> all_there_is(search_problem const& problem) {
  std::vector<byte_count> all;
  for (int d = 0; d < problem.where.device_count(); ++d) {
    byte_count sum = problem.limit.memory.resident_on(problem.where, d);
    for (int stage = 0; stage < problem.where.stage_count(); ++stage)
      for (int k = 0; k < problem.m.value * problem.sequence_chunks; ++k) {
        stage_memory const& own = problem.limit.memory.of(stage, k);
        if (problem.where.device_of(0, stage) == d)
          sum = saturating_sum(sum, saturating_sum(own.stash, own.weight_stash));
      }
    all.push_back(std::min(sum, max_tick - 1));
  }
  return all;
}

// The problem under limits from the given one up to `all`, evenly, the largest first: one for each stash
// that is too many, and at most 12.
inline std::vector<search_problem> with_more_memory(search_problem const& problem,
                                                    std::vector<byte_count> const& all) {
  constexpr byte_count most = 12;
  byte_count largest = 1, count = 1;
  for (stage_memory const& own : problem.limit.memory.stages) largest = std::max(largest, own.stash);
  for (std::size_t d = 0; d < all.size(); ++d) {
    byte_count const over = all[d] - problem.limit.budget_of(static_cast<int>(d));
    count = std::max(count, over / largest + (over % largest > 0 ? 1 : 0));
  }
  count = std::min(count, most);
  std::vector<search_problem> problems;
  for (byte_count step = count; step >= 1; --step) {
    search_problem more = problem;
    more.limit.budget.clear();
    for (std::size_t d = 0; d < all.size(); ++d) {
      byte_count const given = problem.limit.budget_of(static_cast<int>(d)),
                       over = std::max(all[d] - given, byte_count{0});
      more.limit.budget.push_back(given + over / count * step + over % count * step / count);
    }
    problems.push_back(std::move(more));
  }
  return problems;
}

// The problem under the given limit and somewhat less, but until its backward a stash counts with a part
// alone: an offloaded stash takes no memory then, and all of it from the backward on. So weight passes
// come early.
inline std::vector<search_problem> with_less_in_flight(search_problem const& problem) {
  std::vector<search_problem> problems;
  for (stage_memory const& own : problem.limit.memory.stages)
    if (own.recomputes() || own.stash_left != stage_memory::all) return problems;
  byte_count largest = 0;
  for (stage_memory const& own : problem.limit.memory.stages) largest = std::max(largest, own.stash);
  for (byte_count const part : {0, 4, 2})
    for (byte_count const less : {0, 1, 2}) {
      search_problem other = problem;
      for (stage_memory& own : other.limit.memory.stages) {
        byte_count const there = part == 0 ? 0 : own.stash / part;
        own.weight_stash = saturating_sum(own.weight_stash, own.stash - there);
        own.stash = there;
      }
      for (byte_count& budget : other.limit.budget) budget -= less * largest;
      problems.push_back(std::move(other));
    }
  return problems;
}

// Whether devices run the same passes one after the other, at any times.
inline bool is_same_order(schedule const& a, schedule const& b) {
  auto const same = [](time_slot const& left, time_slot const& right) {
    return left.what == right.what && left.is_pair() == right.is_pair();
  };
  for (std::size_t d = 0; d < a.order.size(); ++d)
    if (!std::equal(a.order[d].begin(), a.order[d].end(), b.order[d].begin(), b.order[d].end(), same))
      return false;
  return true;
}

// Moves passes about where these may wait for copies. Orders are timed and moved over links of the
// ladder, the slowest first and each once, and an order that fits over one is an answer: it fits over
// the given link, too. So a faster link has all answers of a slower one, and more.
class paged_search {
 public:
  paged_search(memory_limit const& limit, host_link const& host, objective aim)
      : limit_(limit), host_(host), aim_(aim) {}

  tick length(schedule const& s) const {
    tick const all = makespan(s), own = span(s);
    return aim_ == objective::both ? all + 3 * own : aim_ == objective::span ? own : all;
  }

  // Whether two binary digits are followed by zeros.
  static bool moves_at(tick ticks) {
    while (ticks > 3 && ticks % 2 == 0) ticks /= 2;
    return ticks <= 3;
  }

  // Starts from these orders, of which some are moved until the smallest copy takes `longest`; beyond
  // that they are timed alone, if `always`. Two links of each octave move six orders each: at most eight
  // times `evaluations` moves together, most of which end early, in a cycle. Beside the moves, each link
  // times six orders, and those two and the links beyond time all of them. offer(schedule, away) gets
  // what is found.
  template <class Offer>
  void run(std::vector<schedule> orders, tick longest, bool always, std::int64_t evaluations,
           std::uint64_t seed, search_watch watch, Offer const& offer) {
    constexpr std::size_t moved = 6;
    paged_order const given(orders[0], limit_, host_);
    if (!given.is_possible()) return;  // over any link
    host_ladder const ladder(limit_.memory, orders[0].stage_count(), host_);
    tick const last = ladder.where_smallest_takes(longest);
    std::int64_t octaves = 2;
    for (tick n = last; n > 1; n /= 2) ++octaves;
    std::int64_t const moves = 4 * evaluations / (octaves * static_cast<std::int64_t>(moved));
    std::vector<tick> rungs = ladder.rungs(last, 5);
    if (always)
      for (tick const slow : ladder.rungs(host_ladder::slowest(), 1))
        if (slow > last) rungs.push_back(slow);
    std::vector<keyed_index> shortest;  // those moved last, as they were and as they are
    for (std::size_t r = rungs.size(); r-- > 0;) {
      if (!watch({}, 0)) return;
      paged_order const paging(orders[0], limit_, ladder.at(rungs[r]));
      bool const is_far = rungs[r] > last, moves_here = !is_far && moves_at(rungs[r]);
      if (moves_here || is_far) {
        shortest.clear();
        for (std::size_t i = 0; i < orders.size(); ++i) shortest.push_back({0, i});
      }
      for (keyed_index& each : shortest) {
        schedule s = orders[each.index];
        bool const fits = paging.time(s, away_);
        if (fits) offer(s, away_);
        each.key = fits ? length(s) : max_tick;
      }
      if (!moves_here) continue;
      std::stable_sort(shortest.begin(), shortest.end(),
                       [](keyed_index const& a, keyed_index const& b) { return a.key < b.key; });
      shortest.resize(std::min(shortest.size(), moved));
      for (std::size_t i = 0, count = shortest.size(); i < count; ++i) {
        schedule s = orders[shortest[i].index];
        std::uint64_t const own = mixed(seed + static_cast<std::uint64_t>(rungs[r])) + i;
        if (!improve_paged(paging, s, away_, moves, own, [&](schedule const& o) { return length(o); }))
          continue;
        offer(s, away_);
        bool is_new = true;
        for (schedule const& other : orders) is_new = is_new && !is_same_order(other, s);
        if (!is_new) continue;
        shortest.push_back({0, orders.size()});
        orders.push_back(std::move(s));
      }
    }
    // The makespan of an order falls with the time of copies, which is not so of its span.
    if (aim_ != objective::makespan) return;
    for (schedule& s : orders)
      if (given.time(s, away_)) offer(s, away_);
  }

 private:
  memory_limit const& limit_;
  host_link const& host_;
  objective aim_;
  std::vector<pass> away_;
};

}  // namespace ashlar::search_detail

namespace ashlar {

ASHLAR_INLINE literal_optional<offloaded_schedule> search_offloaded(
    search_problem const& problem, host_link const& host, search_budget budget,
    search_result const* plain, search_watch watch, task_runner for_each_task) {
  // Copies may make do with less than a search without them.
  if (diagnosis const d = check(problem); !d.ok()) {
    bool lacks_room = d.broken == rule::parameter_is_at_least && d.which == parameter::memory_budget;
    for (byte_count const room : problem.limit.budget) lacks_room = lacks_room && room >= 0;
    if (!lacks_room) refuse(d);
  }
  std::vector<search_problem> problems =
      search_detail::with_more_memory(problem, search_detail::all_there_is(problem));
  search_start const most(problems[0]);
  for (search_problem& other : search_detail::with_less_in_flight(problem))
    problems.push_back(std::move(other));
  std::int64_t const half = std::max<std::int64_t>(budget.passes / 2, 1);
  budget.passes = std::max<std::int64_t>(half / static_cast<std::int64_t>(problems.size()), 1);
  bool is_found = false;
  offloaded_schedule found;
  found.least = most.least;
  search_detail::paged_search paged(problem.limit, host, budget.aim);
  auto const offer = [&](schedule const& s, tick reached, auto const& choose) {
    if (is_found && reached >= found.reached) return;
    offload_choice choice = choose(s);
    if (!choice.fits) return;
    found.best = s;
    found.reached = reached;
    found.choice = std::move(choice);
    is_found = true;
  };
  std::vector<schedule> starts = most.seeds;
  auto const offer_result = [&](search_result const& result) {
    offer(result.best, result.reached,
          [&](schedule const& s) { return steady_offload(s, problem.limit, host); });
    bool is_new = true;
    for (schedule const& other : starts)
      is_new = is_new && !search_detail::is_same_order(other, result.best);
    if (is_new) starts.push_back(result.best);
  };
  if (plain != nullptr) offer_result(*plain);
  for (search_problem const& other : problems)
    if (check(other).ok()) offer_result(search(other, budget, watch, for_each_task));
  // Passes may also wait for copies. The time of a program with messages on its links is not known here.
  if (budget.aim != objective::program && !starts.empty()) {
    tick longest = 0;  // with longer copies nothing that leaves makes a step shorter than `plain`
    if (plain != nullptr)
      longest = makespan(plain->best) / 2;
    else
      for (tick const each : busy(starts[0])) longest = saturating_sum(longest, each);
    std::int64_t const evaluations = half / (1 + static_cast<std::int64_t>(pass_count(starts[0])));
    paged.run(std::move(starts), longest, plain == nullptr, evaluations, budget.seed, watch,
              [&](schedule const& s, std::vector<pass> const& away) {
                offer(s, paged.length(s), [&](schedule const& timed) {
                  return offload_exactly(timed, problem.limit, host, away);
                });
              });
  }
  if (!is_found) return std::nullopt;
  return found;
}

}  // namespace ashlar
