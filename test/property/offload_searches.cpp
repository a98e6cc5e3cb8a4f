// Searches that may offload, over links of all speeds.
#include "random_cases.hpp"
#include "random_problems.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/search/offload.hpp>
#include <ashlar/search/offload_search.hpp>
#include <ashlar/search/paged_order.hpp>
#include <ashlar/search/seeds.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

using namespace random_case;

namespace {

// Links get ever faster; the last one takes no time for bytes.
std::vector<host_link> faster_and_faster(dice& d) {
  host_link link{.speed = {.latency = d.percent(30) ? d.between(1, 3) : 0, .bandwidth = 1, .period = 50},
                 .shared_by = d.between(1, 2)};
  std::vector<host_link> all;
  for (; link.speed.bandwidth < 400;
       link.speed.bandwidth += 1 + link.speed.bandwidth * d.between(40, 160) / 50)
    all.push_back(link);
  link.speed.bandwidth = 0;
  all.push_back(link);
  return all;
}

TEST_CASE("a search is never worse over a faster link to the host, nor than without one") {
  int better = 0, waits = 0, only_with = 0;
  int const problems = long_cases(160);
  FOR_SEEDS(problems) {
    search_problem problem = random_problem(d);
    if (d.percent(60))  // too little for any schedule of which nothing leaves
      for (byte_count& budget : problem.limit.budget) budget -= budget / d.between(2, 3);
    search_budget const budget{
        .passes = d.between(0, 10) * 100, .seed = seed, .aim = static_cast<objective>(d.between(0, 3))};
    CAPTURE(seed);
    std::optional<search_result> plain;
    if (check(problem).ok()) plain = search(problem, budget);
    std::optional<tick> slower;
    if (plain) slower = plain->reached;
    bool is_first = true;
    for (host_link const& host : faster_and_faster(d)) {
      CAPTURE(host.speed.bandwidth);
      auto const found = search_offloaded(problem, host, budget, plain ? &*plain : nullptr);
      REQUIRE(found.has_value() >= slower.has_value());
      if (!found) continue;
      if (slower) CHECK(found->reached <= *slower);
      only_with += !slower;
      waits += slower && !is_first && found->reached < *slower;
      slower = found->reached;
      is_first = false;
      // The values that leave are planned for this link, though they may have been found over a slower
      // one.
      CHECK(found->choice.offload.copy
            == copy_times(problem.limit.memory, problem.where.stage_count(), host));
      for (std::size_t device = 0; device < found->choice.peak.size(); ++device)
        CHECK(found->choice.peak[device] <= problem.limit.budget_of(static_cast<int>(device)));
      CHECK(check(lower(found->best, {.offload = found->choice.offload})).ok());
    }
    better += plain && *slower < plain->reached;
  }
  MESSAGE(better << " of " << problems << " are better with copies, " << only_with
                 << " fit with them alone, " << waits << " links are better than one before");
  CHECK(10 * better > problems);
  CHECK(only_with > 0);
  CHECK(10 * waits > problems);
}

TEST_CASE(
    "what fits at fixed times fits over every faster link, and orders with copies take no longer") {
  int fit = 0, timed = 0;
  FOR_SEEDS(random_cases(200)) {
    search_problem const problem = random_problem(d);
    std::vector<schedule> const known = seeds_of(problem);
    if (known.empty()) continue;
    schedule const& s =
        known[static_cast<std::size_t>(d.between(0, static_cast<int>(known.size()) - 1))];
    memory_limit limit = problem.limit;
    for (byte_count& budget : limit.budget) budget -= budget / d.between(3, 9);
    CAPTURE(seed);
    bool did_fit = false;
    std::optional<schedule> before;
    std::vector<pass> away;
    for (host_link const& host : faster_and_faster(d)) {
      CAPTURE(host.speed.bandwidth);
      offload_choice const choice = steady_offload(s, limit, host);
      CHECK(choice.fits >= did_fit);
      if (choice.fits) CHECK(offload_exactly(s, limit, host, choice.offload.forwards).fits);
      did_fit = choice.fits;
      paged_order const paging(s, limit, host);
      schedule now = s;
      if (!paging.is_possible() || !paging.time(now, away)) {
        CHECK(!before);
        continue;
      }
      CHECK(offload_exactly(now, limit, host, away).fits);
      for (std::size_t device = 0; before && device < now.order.size(); ++device)
        for (std::size_t i = 0; i < now.order[device].size(); ++i)
          CHECK(now.order[device][i].start <= before->order[device][i].start);
      before = now;
    }
    fit += did_fit;
    timed += before.has_value();
  }
  MESSAGE(fit << " fit, " << timed << " are timed");
  CHECK(fit > random_cases(20));
  CHECK(timed > random_cases(20));
}

// Whether lanes that copy as soon as they can have all back in time: those made first leave first, those
// needed first come back first.
bool come_back_in_time(schedule const& s, std::vector<pass> const& forwards,
                       std::vector<tick> const& copies, int device) {
  struct stay {
    tick made, needed, copy, gone = 0;
  };
  std::vector<stay> away;
  auto const& order = s.order[static_cast<std::size_t>(device)];
  for (time_slot const& t : order)
    if (std::find(forwards.begin(), forwards.end(), t.what) != forwards.end()) {
      auto const reader = std::find_if(order.begin(), order.end(), [&](time_slot const& other) {
        return other.what.kind != pass_kind::forward && other.what.stage == t.what.stage
               && other.what.micro_batch == t.what.micro_batch;
      });
      tick const copy = copies[static_cast<std::size_t>(t.what.stage)];
      away.push_back({.made = s.end_of(t, device), .needed = reader->start, .copy = copy});
    }
  tick free = 0;
  for (stay& each : away) free = each.gone = std::max(free, each.made) + each.copy;
  std::sort(away.begin(), away.end(), [](stay const& a, stay const& b) { return a.needed < b.needed; });
  free = 0;
  for (stay const& each : away) {
    free = std::max(free, each.gone) + each.copy;
    if (free > each.needed || each.made == each.needed) return false;
  }
  return true;
}

TEST_CASE("values of which each may leave alone leave together if each is still back in time") {
  int in_time = 0, late = 0;
  FOR_SEEDS(random_cases(1000)) {
    constexpr char const* names[] = {"gpipe", "1f1b", "zb-h1", "v-half", "interleaved-zb"};
    schedule const s =
        retime(catalog::find(names[d.between(0, 4)])->make({.p = devices{2}, .m = micro_batches{6}}),
               costs(stage_cost{d.between(1, 4), d.between(1, 9), d.between(1, 9)}, d.between(0, 2)));
    memory_limit limit{.memory = {}, .budget = {max_tick / 2}};
    limit.memory.stages.clear();
    for (int stage = 0; stage < s.stage_count(); ++stage)
      limit.memory.stages.push_back({.stash = d.between(1, 4)});
    host_link const host{.speed = {.latency = d.between(0, 3), .bandwidth = 1}};
    std::vector<pass> forwards;
    for (auto const& order : s.order)
      for (time_slot const& t : order)
        if (t.what.kind == pass_kind::forward && d.percent(70)
            && offload_exactly(s, limit, host, {t.what}).fits)
          forwards.push_back(t.what);
    std::vector<tick> const copies = copy_times(limit.memory, s.stage_count(), host);
    bool all = true;
    for (int device = 0; device < s.device_count(); ++device)
      all = all && come_back_in_time(s, forwards, copies, device);
    CAPTURE(seed);
    CHECK(offload_exactly(s, limit, host, forwards).fits == all);
    ++(all ? in_time : late);
  }
  CHECK(in_time > random_cases(20));
  CHECK(late > random_cases(20));
}

}  // namespace
