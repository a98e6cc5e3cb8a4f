#include <ashlar/search/residency.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "random.hpp"
#include "random_cases.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/prove/prove.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace shapes;

namespace {

constexpr lower_options sharded_over_two{.data_ranks = 2, .sharding = sharding_level::weights};

// Weights of 100 bytes, gathered in `gather` ticks; stashes of 10 bytes.
simulation_options gathering_in(tick gather, costs const& cost) {
  simulation_options o;
  o.cost = cost;
  o.cost.on.collective = {.bandwidth = 50, .period = gather};
  o.memory.stages = {{.weights = 100, .weight_gradient = 100, .stash = 10}};
  return o;
}

// The shortest step of one device by all plans with `buffers`: every missing stage may replace every
// other, at every place.
class all_plans {
 public:
  all_plans(schedule const& s, simulation_options const& o, int buffers)
      : s_(s),
        o_(o),
        passes_(numbered_passes(s.order[0])),
        held_(static_cast<std::size_t>(buffers), -1) {
    extend(0);
  }
  tick least() const { return least_; }

 private:
  void extend(int i) {
    if (i == static_cast<int>(passes_.size())) {
      residency plan{{stays_}};
      std::stable_sort(plan.stays[0].begin(), plan.stays[0].end(),
                       [](weight_stay const& a, weight_stay const& b) { return a.fetch < b.fetch; });
      least_ = std::min(least_, simulated_residency(s_, sharded_over_two, o_, plan).makespan);
      return;
    }
    int const stage = passes_[static_cast<std::size_t>(i)].what.stage;
    for (int const held : held_)
      if (held >= 0 && stays_[static_cast<std::size_t>(held)].stage == stage) {
        weight_stay& stay = stays_[static_cast<std::size_t>(held)];
        int const last = stay.last;
        stay.last = i;
        extend(i + 1);
        stays_[static_cast<std::size_t>(held)].last = last;
        return;
      }
    for (std::size_t b = 0; b < held_.size(); ++b) {
      int const before = held_[b];
      int first = before < 0 ? 0 : stays_[static_cast<std::size_t>(before)].last + 1;
      for (weight_stay const& stay : stays_)
        if (stay.stage == stage) first = std::max(first, stay.last + 1);
      held_[b] = static_cast<int>(stays_.size());
      for (int fetch = first; fetch <= i; ++fetch) {
        stays_.push_back({stage, static_cast<int>(b), fetch, i});
        extend(i + 1);
        stays_.pop_back();
      }
      held_[b] = before;
    }
  }

  schedule const& s_;
  simulation_options const& o_;
  dynamic_array<timed_pass> passes_;
  std::vector<int> held_;  // stays by buffer
  std::vector<weight_stay> stays_;
  tick least_ = max_tick;
};

TEST_CASE("on one device the choice is the best of all plans, or nearly") {
  random_case::dice d(59);
  tick chosen = 0, least = 0;
  for (int i = 0; i < random_cases(60); ++i) {
    // The orders of two micro-batches through three chunks, with passes of random times.
    std::vector<stage_cost> times;
    for (int stage = 0; stage < 3; ++stage)
      times.push_back({d.between(1, 9), d.between(1, 9), d.between(1, 9)});
    costs const cost(times);
    std::vector<pass> order;
    int next[2] = {0, 0};
    while (order.size() < 12) {
      int const k = d.between(0, 1);
      int const step = next[k];
      if (step == 6) continue;
      ++next[k];
      order.push_back({step < 3 ? F : B, step < 3 ? step : 5 - step, k});
    }
    schedule s = schedule_without_passes(looped(devices{1}, chunks{3}), {0, 0}, cost);
    tick now = 0;
    for (pass const& what : order) {
      s.order[0].push_back({what, now});
      now += cost.of(what, 0);
    }
    REQUIRE(check(s).ok());
    simulation_options const o = gathering_in(d.between(1, 25), cost);
    residency_choice const made = choose_residency(s, sharded_over_two, o, {.stages = 2});
    all_plans const all(s, o, 2);
    CHECK(made.makespan >= all.least());
    chosen += made.makespan;
    least += all.least();
  }
  CHECK(static_cast<double>(chosen) <= 1.01 * static_cast<double>(least));
}

TEST_CASE("never longer than PyTorch's rule, within its peak") {
  for (catalog_case const& c : catalog_cases({2, 4}, {4, 8}, stage_cost{10, 10, 10})) {
    CAPTURE(c);
    schedule const s = c.schedule();
    for (tick const gather : {5, 40, 120})
      for (int const stages : {2, 3}) {
        simulation_options const o = gathering_in(gather, s.cost);
        residency_choice const window = simulated_residency(
            s, sharded_over_two, o, planned_residency(s, {.stages = stages, .lookahead = stages}));
        residency_choice const same = choose_residency(s, sharded_over_two, o, {.stages = stages});
        CHECK(same.makespan <= window.makespan);
        byte_count const peak = *std::max_element(window.peak.begin(), window.peak.end());
        residency_choice const budget =
            choose_residency(s, sharded_over_two, o, {.stages = 9, .budgets = {peak}});
        CHECK(budget.fits());
        CHECK(budget.makespan <= window.makespan);
        for (byte_count const own : budget.peak) CHECK(own <= peak);
        lower_options how = sharded_over_two;
        how.weights = budget.weights;
        program const p = lower(s, how);
        CHECK(check(p).ok());
        CHECK(simulate(p, o).makespan() == budget.makespan);
      }
  }
}

TEST_CASE("a plan is beyond a budget by the rest of its peak, and a budget below none is none") {
  schedule const s = catalog::find("depth-first")->make({devices{2}, micro_batches{4}});
  simulation_options const o = gathering_in(9, s.cost);
  residency const plan = planned_residency(s, {.stages = 2});
  auto const excess = [&](std::vector<byte_count> const& budgets) {
    return simulated_residency(s, sharded_over_two, o, plan, budgets).excess;
  };
  std::vector<byte_count> const peak = simulated_residency(s, sharded_over_two, o, plan, {}).peak;
  CHECK(excess({}) == 0);
  for (byte_count const budget : {-5, 0, 1, 2})
    CHECK(excess({budget}) == peak[0] + peak[1] - 2 * std::max<byte_count>(budget, 0));
  CHECK(excess({peak[0] - 1, 0}) == 1 + peak[1]);
  CHECK(excess({peak[0] + 1, peak[1] - 2}) == 2);
}

TEST_CASE("limits that no plan keeps") {
  schedule const s = catalog::find("depth-first")->make({devices{2}, micro_batches{4}});
  simulation_options const o = gathering_in(9, s.cost);
  CHECK(!choose_residency(s, sharded_over_two, o, {.budgets = {1}}).fits());
  CHECK_BREAKS(parameter_is_at_least, choose_residency(s, sharded_over_two, o, {.stages = 0}));
  CHECK_BREAKS(tables_agree, choose_residency(s, sharded_over_two, o, {.budgets = {1, 2, 3}}));
  CHECK_BREAKS(gathered_weights_are_used, choose_residency(s, {}, o));
}

}  // namespace
