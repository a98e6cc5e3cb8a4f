#include <ashlar/schedule/residency_rules.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "random.hpp"
#include "random_cases.hpp"
#include "shapes.hpp"
#include <ashlar/schedule/from_orders.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

using namespace shapes;

namespace {

// A device whose passes read the weights of these stages, one after the other; only its order counts.
constexpr schedule of_requests(std::vector<int> const& stages_read, int stage_count) {
  schedule s = schedule_without_passes(looped(devices{1}, chunks{stage_count}), {0});
  for (int const stage : stages_read)
    s.order[0].push_back({{F, stage, 0}, static_cast<tick>(s.order[0].size())});
  return s;
}

constexpr bool furthest_is_replaced() {
  schedule const s = of_requests({0, 1, 2, 0, 1, 3, 0}, 4);
  residency const two = planned_residency(s, {.stages = 2, .window = false});
  return check(two, s).ok()
         && two.stays[0]
                == std::vector<weight_stay>{
                    {0, 0, 0, 6}, {1, 1, 0, 1}, {2, 1, 2, 2}, {1, 1, 3, 4}, {3, 1, 5, 5}};
}
static_assert(furthest_is_replaced());

// The fewest gathers with which `k` stages at a time serve the requests: by trying all victims.
std::size_t fewest_gathers(std::vector<int> const& requests, std::size_t k) {
  std::map<std::vector<int>, std::size_t> least{{{}, 0}};  // by the resident stages
  for (int const stage : requests) {
    std::map<std::vector<int>, std::size_t> next;
    auto const reach = [&](std::vector<int> held, std::size_t count) {
      std::sort(held.begin(), held.end());
      auto const [at, is_new] = next.try_emplace(std::move(held), count);
      if (!is_new) at->second = std::min(at->second, count);
    };
    for (auto const& [held, count] : least) {
      if (std::find(held.begin(), held.end(), stage) != held.end()) {
        reach(held, count);
        continue;
      }
      for (std::size_t victim = 0; victim < held.size(); ++victim) {
        std::vector<int> after = held;
        after[victim] = stage;
        reach(std::move(after), count + 1);
      }
      if (held.size() < k) {
        std::vector<int> after = held;
        after.push_back(stage);
        reach(std::move(after), count + 1);
      }
    }
    least = std::move(next);
  }
  std::size_t best = requests.size();
  for (auto const& [held, count] : least) best = std::min(best, count);
  return best;
}

TEST_CASE("what is read furthest in the future leaves: the fewest gathers") {
  CHECK(furthest_is_replaced());
  random_case::dice d(58);
  for (int i = 0; i < random_cases(300); ++i) {
    int const stage_count = d.between(1, 5), k = d.between(1, 4);
    std::vector<int> requests;
    for (int n = d.between(1, 14); n-- > 0;) requests.push_back(d.between(0, stage_count - 1));
    schedule const s = of_requests(requests, stage_count);
    std::size_t const least = fewest_gathers(requests, static_cast<std::size_t>(k));
    residency const plan = planned_residency(s, {.stages = k, .window = false});
    CHECK(check(plan, s).ok());
    CHECK(plan.gather_count() == least);
    CHECK(plan.buffer_count(0) <= k);
    for (int const ahead : {0, 1, 3, 100})
      for (bool const window : {false, true}) {
        residency const other = planned_residency(
            s, {.stages = k, .lookahead = 1 + ahead, .passes_ahead = ahead, .window = window});
        CHECK(check(other, s).ok());
        CHECK(other.gather_count() >= least);
        CHECK(other.buffer_count(0) <= k);
      }
  }
}

TEST_CASE("rules plan every schedule of the catalog, pairs too") {
  for (catalog_case const& c : catalog_cases({2, 4}, {4, 8})) {
    CAPTURE(c);
    schedule const s = c.schedule();
    for (int const k : {1, 2, 3})
      for (bool const window : {false, true}) {
        residency const plan =
            planned_residency(s, {.stages = k, .lookahead = 2, .passes_ahead = 2, .window = window});
        CHECK(check(plan, s).ok());
        for (int d = 0; d < s.device_count(); ++d)
          CHECK(plan.buffer_count(d) <= k + (window ? 1 : 0));  // of a pair both are resident
      }
  }
}

}  // namespace
