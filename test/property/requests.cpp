// Properties of searches for schedules of requests, and of their bounds, over placements, costs and
// arrivals.
#include "random.hpp"
#include "random_cases.hpp"
#include "violations.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/search/request_search.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace random_case;

namespace {

request_problem random_requests(dice& d, int most_requests, int most_chunks) {
  devices const p{d.between(1, 3)};
  request_problem problem{d.percent(40)   ? linear(p)
                          : d.percent(50) ? v_shape(p)
                                          : looped(p, chunks{2}),
                          {},
                          {}};
  bool const wait = d.percent(50);
  for (int r = d.between(1, most_requests); r > 0; --r)
    problem.asked.push_back({d.between(1, most_chunks), wait ? d.between(0, 30) : 0});
  int const m = micro_batch_count(problem.asked);
  std::vector<stage_cost> each;
  for (int i = 0; i < m * problem.where.stage_count(); ++i)
    each.push_back({.forward = d.between(d.percent(10) ? 0 : 1, 9)});
  problem.cost = costs(pass_costs::by_stage_and_micro_batch(each, m), d.between(0, 2));
  return problem;
}

// Passes wait for their inputs, the chunk before, their device and the request's arrival.
bool keeps_to(request_problem const& problem, schedule const& s) {
  int const m = micro_batch_count(problem.asked), stages = problem.where.stage_count();
  std::vector<int> const first = first_chunks(problem.asked);
  std::vector<tick> start(static_cast<std::size_t>(m * stages), -1), end = start;
  for (int d = 0; d < s.device_count(); ++d) {
    tick free = 0;
    for (time_slot const& t : s.order[static_cast<std::size_t>(d)]) {
      auto const x = static_cast<std::size_t>(t.what.stage * m + t.what.micro_batch);
      if (t.what.kind != pass_kind::forward || start[x] != -1 || t.start < free) return false;
      start[x] = t.start;
      free = end[x] = s.end_of(t, d);
    }
  }
  for (std::size_t r = 0; r < problem.asked.size(); ++r)
    for (int k = first[r]; k < first[r + 1]; ++k)
      for (int stage = 0; stage < stages; ++stage) {
        auto const x = static_cast<std::size_t>(stage * m + k);
        if (start[x] < problem.asked[r].arrival) return false;
        if (k > first[r] && start[x] < end[x - 1]) return false;
        if (stage == 0) continue;
        tick const hop = problem.cost.transfer(problem.where.device_of(0, stage - 1),
                                               problem.where.device_of(0, stage));
        if (start[x] < end[x - static_cast<std::size_t>(m)] + hop) return false;
      }
  return true;
}

// The least value of all orders, each pass appended to its device in every possible sequence.
class all_orders {
 public:
  all_orders(request_problem const& problem, request_objective aim)
      : problem_(problem), aim_(aim), first_(first_chunks(problem.asked)), m_(first_.back()) {
    end_.assign(static_cast<std::size_t>(m_ * problem.where.stage_count()), -1);
    free_.assign(static_cast<std::size_t>(problem.where.device_count()), 0);
    append(0, 0);
  }

  tick least() const { return least_; }

 private:
  void append(int done, tick last_start) {
    if (done == static_cast<int>(end_.size())) {
      std::vector<tick> ends;
      for (std::size_t r = 0; r < problem_.asked.size(); ++r)
        ends.push_back(end_[end_.size() - static_cast<std::size_t>(m_ - first_[r + 1] + 1)]);
      least_ = std::min(least_, value_of(aim_, problem_.asked, ends));
      return;
    }
    for (std::size_t r = 0; r < problem_.asked.size(); ++r)
      for (int k = first_[r]; k < first_[r + 1]; ++k)
        for (int stage = 0; stage < problem_.where.stage_count(); ++stage) {
          auto const x = static_cast<std::size_t>(stage * m_ + k);
          if (end_[x] >= 0 || (k > first_[r] && end_[x - 1] < 0)) continue;
          int const device = problem_.where.device_of(0, stage);
          auto const d = static_cast<std::size_t>(device);
          tick start = std::max(free_[d], problem_.asked[r].arrival);
          if (stage > 0) {
            tick const input = end_[x - static_cast<std::size_t>(m_)];
            if (input < 0) continue;
            start = std::max(
                start, input + problem_.cost.transfer(problem_.where.device_of(0, stage - 1), device));
          }
          if (start < last_start) continue;  // in the order of starts
          tick const before = free_[d];
          end_[x] = free_[d] = start + problem_.cost.of({pass_kind::forward, stage, k}, device);
          append(done + 1, start);
          end_[x] = -1;
          free_[d] = before;
        }
  }

  request_problem const& problem_;
  request_objective aim_;
  std::vector<int> first_;
  int m_;
  std::vector<tick> end_, free_;
  tick least_ = max_tick;
};

TEST_CASE("a search's result is valid, not below its bound, and the same again") {
  int at_bound = 0;
  FOR_SEEDS(many_cases(150, 5'000)) {
    CAPTURE(seed);
    request_problem const problem = random_requests(d, 6, 4);
    request_objective const aim = static_cast<request_objective>(d.between(0, 2));
    request_budget const budget{.evaluations = d.between(1, 400), .aim = aim, .seed = seed};
    request_schedule const r = search_requests(problem, budget);
    CHECK(keeps_to(problem, r.best));
    CHECK((check(r.best).ok() && check(lower(r.best)).ok()));
    CHECK(value_of(aim, problem.asked, request_ends(r.best, problem.asked)) == r.reached);
    CHECK(r.least == request_bound(problem.where, problem.asked, problem.cost));
    CHECK(r.least.of(aim) <= r.reached);
    CHECK(r.evaluations <= budget.evaluations);
    request_schedule const again = search_requests(problem, budget);
    CHECK((again.best == r.best && again.evaluations == r.evaluations));
    at_bound += r.is_optimal(aim) ? 1 : 0;
  }
  CHECK(at_bound > random_cases(40));
}

TEST_CASE("no order of a few requests is below a bound, and a search finds the best of all orders") {
  int behind = 0, solved = 0;
  double gap = 0;
  FOR_SEEDS(many_cases(120, 3'000)) {
    request_problem const problem = random_requests(d, 3, 2);
    if (micro_batch_count(problem.asked) * problem.where.stage_count() > 9) continue;
    CAPTURE(seed);
    for (request_objective const aim :
         {request_objective::makespan, request_objective::mean, request_objective::percentile_99}) {
      tick const least = all_orders(problem, aim).least();
      request_schedule const r = search_requests(problem, {.evaluations = 1'000, .aim = aim});
      CHECK(r.least.of(aim) <= least);
      CHECK(r.reached >= least);
      ++solved;
      behind += r.reached > least ? 1 : 0;
      gap +=
          static_cast<double>(least - r.least.of(aim)) / static_cast<double>(std::max<tick>(least, 1));
    }
  }
  MESSAGE(behind << " of " << solved << " are longer than the best; bounds are " << 100 * gap / solved
                 << " % below it");
  CHECK(solved > random_cases(120));
  CHECK(100 * behind <= solved);
  CHECK(20 * gap <= solved);
}

// From 100 requests on, a percentile leaves some out.
TEST_CASE(
    "bounds of many requests, with arrivals and without, are at least half of what a short search "
    "finds") {
  FOR_SEEDS(many_cases(6, 60)) {
    CAPTURE(seed);
    request_problem problem{d.percent(50) ? linear(devices{2}) : v_shape(devices{2}), {}, {}};
    bool const wait = seed % 2 == 0;
    for (int r = d.between(100, 220); r > 0; --r)
      problem.asked.push_back({d.between(1, 2), wait ? d.between(0, 1'500) : 0});
    int const m = micro_batch_count(problem.asked);
    std::vector<stage_cost> each;
    for (int i = 0; i < m; ++i) each.push_back({.forward = d.between(1, 9)});
    problem.cost = costs(pass_costs::by_stage_and_micro_batch(each, m), 1);
    for (request_objective const aim :
         {request_objective::makespan, request_objective::mean, request_objective::percentile_99}) {
      request_schedule const r = search_requests(problem, {.evaluations = 40, .aim = aim, .seed = seed});
      CHECK(keeps_to(problem, r.best));
      CHECK(r.least.of(aim) <= r.reached);
      CHECK(r.reached <= 2 * r.least.of(aim));
    }
  }
}

TEST_CASE("ends are of requests whose passes are all known") {
  request_problem const problem{linear(devices{1}), {{2, 0}}, costs(stage_cost{.forward = 3})};
  schedule s = search_requests(problem, {}).best;
  CHECK(request_ends(s, problem.asked) == std::vector<tick>{6});
  s.order[0].front().what.stage = 1;
  CHECK_BREAKS(every_pass_is_known, request_ends(s, problem.asked));
}

// Laws: more requests, later arrivals and longer passes never lower a bound.
TEST_CASE("bounds grow with passes, and a later arrival of all moves the makespan alone") {
  FOR_SEEDS(many_cases(200, 5'000)) {
    request_problem const problem = random_requests(d, 5, 3);
    request_bounds const least = request_bound(problem.where, problem.asked, problem.cost);
    request_problem longer = problem;
    longer.cost.passes.change_each([&](stage_cost& c) { c.forward += d.between(0, 2); });
    request_bounds const more = request_bound(longer.where, longer.asked, longer.cost);
    CAPTURE(seed);
    CHECK((more.makespan >= least.makespan && more.mean >= least.mean
           && more.percentile_99 >= least.percentile_99));
    request_problem later = problem;
    for (request& r : later.asked) r.arrival += 100;
    request_bounds const moved = request_bound(later.where, later.asked, later.cost);
    CHECK(moved.makespan == least.makespan + 100);
    CHECK(moved.mean == least.mean);
    CHECK(moved.percentile_99 <= least.percentile_99);
  }
}

}  // namespace
