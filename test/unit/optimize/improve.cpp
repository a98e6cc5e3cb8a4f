#include <ashlar/optimize/improve.hpp>
// The header above comes first: it needs nothing before it.
#include "limits.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/schedule/check.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace shapes;

namespace {

tick both_of(schedule const& s) { return makespan(s) + 3 * span(s); }

int most_held(schedule const& s) {
  std::vector<int> const peaks = peak_activations(s);
  return *std::max_element(peaks.begin(), peaks.end());
}

TEST_CASE("within a limit") {
  schedule const s = one_f_one_b(3, 5);  // holds 3, 2 and 1
  CHECK((is_within(s, chunk_activations(3)) && !is_within(s, chunk_activations(2))));
  CHECK((is_within(s, chunk_activations({3, 2, 1})) && !is_within(s, chunk_activations({3, 1, 1}))));
  CHECK((is_within(s, limits::sized({15}, {5, 1, 1}, {0}))
         && !is_within(s, limits::sized({14}, {5, 1, 1}, {0}))));
}

TEST_CASE("a small search improves a schedule, none changes it") {
  schedule const s =
      catalog::zb_h1(devices{2}) | repeat(micro_batches{2}) | retime(costs(stage_cost{2, 3, 1}, 1));
  schedule const found = improve({s}, chunk_activations(2), {.passes = 300});
  CHECK((check(found).ok() && both_of(found) <= both_of(s) && most_held(found) <= 2));
  CHECK(improve({s}, chunk_activations(2), {}) == s);
}

// Any search of any length is no worse than the seed, stays within the limit and gives the same again.
TEST_CASE("improved schedules") {
  int better = 0, other = 0;
  for (char const* name : {"zb-h1", "zb-h2", "v-half", "v-min", "1f1b-v"})
    for (int p : {2, 3, 4})
      for (tick hop : {0, 2}) {
        block const b = catalog::find(name)->block_of({devices{p}, micro_batches{6}});
        schedule const s = b | repeat(micro_batches{6}) | retime(costs(stage_cost{5, 6, 4}, hop));
        int const limit = most_held(s);
        CAPTURE(name);
        CAPTURE(p);
        CAPTURE(hop);
        schedule first;
        for (std::int64_t passes : {1, 500, 5'000, 20'000})
          for (std::uint64_t seed : {1U, 2U}) {
            search_budget const budget{.passes = passes, .seed = seed};
            schedule const found = improve({s}, chunk_activations(limit), budget);
            CHECK(check(found).ok());
            CHECK(both_of(found) <= both_of(s));
            CHECK(most_held(found) <= limit);
            CHECK(found == improve({s}, chunk_activations(limit), budget));
            if (passes < 20'000) continue;
            better += both_of(found) < both_of(s) ? 1 : 0;
            other += seed == 2 && found != first ? 1 : 0;
            first = found;
          }
      }
  CHECK(better > 10);
  CHECK(other > 0);  // the seed counts
}

TEST_CASE("several seeds: no worse than the best that keeps to the limit") {
  for (int p : {2, 3, 5}) {
    auto const made = [&](block const& b) { return b | repeat(micro_batches{7}) | squeeze(); };
    std::vector<schedule> const all{made(catalog::v_half(devices{p})), made(catalog::v_zb(devices{p})),
                                    made(catalog::v_min(devices{p}))};
    int const limit = most_held(all[0]);
    schedule const found = improve(all, chunk_activations(limit), {.passes = 20'000});
    for (schedule const& s : all)
      if (most_held(s) <= limit) CHECK(both_of(found) <= both_of(s));
    CHECK(most_held(found) <= limit);
  }
}

// V-ZB holds more than half of its limit here: only the search's result fits.
TEST_CASE("a seed above the limit is only a start") {
  schedule const s = catalog::v_zb(devices{4}) | repeat(micro_batches{8}) | squeeze();
  REQUIRE(most_held(s) == 8);
  schedule const found = improve({s}, chunk_activations(4), {.passes = 20'000});
  CHECK(most_held(found) <= 4);
  CHECK(check(found).ok());
}

TEST_CASE("stages that are no chain, two routes and inference are improved, too") {
  schedule const fork = fork_join() | repeat(micro_batches{5}) | retime(costs(stage_cost{3, 4, 2}, 1));
  schedule const two = two_ways(4) | repeat(micro_batches{6}) | retime(costs(stage_cost{3, 4, 2}, 1));
  for (schedule const& s : {fork, two}) {
    schedule const found = improve({s}, chunk_activations(most_held(s)), {.passes = 20'000});
    CHECK(check(found).ok());
    CHECK(both_of(found) <= both_of(s));
    CHECK(most_held(found) <= most_held(s));
  }
  schedule const forwards = catalog::find("inference")->make({devices{3}, micro_batches{4}});
  CHECK(makespan(improve({forwards}, chunk_activations(4), {.passes = 2'000})) == makespan(forwards));
}

TEST_CASE("no idle time, nothing to search") {
  schedule const s = catalog::find("gpipe")->make({devices{1}, micro_batches{4}});
  CHECK(improve({s}, chunk_activations(4), {.passes = 1'000'000'000}) == s);
}

TEST_CASE("what cannot be searched is refused") {
  CHECK_BREAKS(every_pass_is_known,
               improve({with_work(one_f_one_b(2, 2))}, chunk_activations(2), {.passes = 1}));
  schedule const pairs = catalog::find("dualpipev")->make({devices{2}, micro_batches{4}});
  CHECK_BREAKS(overlapped_passes_are_a_pair, improve({pairs}, chunk_activations(9), {.passes = 1}));
  for (int m : {2, 4})
    CHECK_BREAKS(tables_agree,
                 improve({one_f_one_b(2, 3), one_f_one_b(2, m)}, chunk_activations(2), {.passes = 500}));
}

// A schedule that holds more than it may is no answer.
TEST_CASE("limits that are none, or that nothing keeps, are refused") {
  schedule const s = one_f_one_b(3, 5);
  CHECK_BREAKS(tables_agree, is_within(s, memory_limit{}));
  CHECK_BREAKS(tables_agree, improve({s}, memory_limit{}, {.passes = 100}));
  CHECK_BREAKS(tables_agree, improve({s}, chunk_activations({3, 3}), {.passes = 100}));
  CHECK_BREAKS(counts_are_positive, improve(std::vector<schedule>{}, chunk_activations(3), {}));
  CHECK_BREAKS(memory_is_within_budget, improve({s}, chunk_activations(0), {.passes = 500}));
  CHECK(improved_within({s}, chunk_activations(0), {.passes = 500}).empty());
  CHECK_BREAKS(memory_is_within_budget, improve({s}, chunk_activations(1), {}));  // without a budget
  for (byte_count const none : {byte_count{-1}, -INT64_MAX, INT64_MIN}) {
    CHECK(improved_within({s}, chunk_activations(none), {.passes = 500}).empty());
    memory_limit keeps_nothing = chunk_activations({3, 3, none});
    keeps_nothing.memory.stages = {{.stash = 1}, {.stash = 1}, {.stash = 0}};
    CHECK(improved_within({s}, keeps_nothing, {.passes = 500}).empty());
  }
  memory_limit wrong = chunk_activations(3);
  wrong.memory.stages.resize(2);
  CHECK_BREAKS(tables_agree, is_within(s, wrong));
  wrong = chunk_activations(3);
  wrong.memory.stages[0].stash = -1;
  CHECK_BREAKS(sizes_fit, improve({s}, wrong, {.passes = 100}));
  schedule unknown = s;
  unknown.order[1][0].what.stage = 9;
  CHECK_BREAKS(every_pass_is_known, is_within(unknown, chunk_activations(3)));
  CHECK_BREAKS(every_pass_is_known, improve({s, unknown}, chunk_activations(2), {.passes = 100}));
}

}  // namespace
