#include <ashlar/catalog/vocabulary.hpp>
// The header above comes first: it needs nothing before it.
#include "violations.hpp"
#include <ashlar/block/check.hpp>
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace ashlar;

namespace {

TEST_CASE("shards follow the last stage, and their backwards need all of their forwards") {
  stage_graph const g = catalog::vocabulary_graph(devices{3});
  CHECK((g.count() == 6 && g.successors(2).size() == 3 && g.shards_with(3).size() == 3));
  int forwards = 0, gradients = 0;
  for_each_input(g, {pass_kind::backward, 4, 7}, [&](result r, int stage, int k) {
    CHECK((r != result::input_gradient && k == 7));
    forwards += r == result::activation ? stage : 0;
  });
  CHECK(forwards == 3 + 4 + 5);
  for_each_input(g, {pass_kind::backward, 2, 7}, [&](result r, int stage, int) {
    gradients += r == result::input_gradient ? stage : 0;
  });
  CHECK(gradients == 3 + 4 + 5);

  forwards = 0;
  stage_graph const early = catalog::vocabulary_graph(devices{3}, shard_gradient::of_forward);
  for_each_input(early, {pass_kind::backward, 2, 7}, [&](result r, int stage, int) {
    CHECK(r != result::input_gradient);
    forwards += r == result::activation ? stage : 0;
  });
  CHECK(forwards == 2 + 3 + 4 + 5);
}

TEST_CASE("a chain of any length may end in any number of shards") {
  stage_graph const g = catalog::chain_with_shards(stages{3}, 2, shard_gradient::of_forward);
  CHECK((g.count() == 5 && g.successors(1).size() == 1 && g.successors(2).size() == 2));
  CHECK((g.shards_with(4).size() == 2 && g.shards_with(2).empty() && g.gives_gradient_early(3)));
  CHECK(!is_chain(g));
  CHECK(catalog::vocabulary_graph(devices{2}) == catalog::chain_with_shards(stages{2}, 2));
  CHECK_BREAKS(counts_are_positive, catalog::chain_with_shards(stages{0}, 0));
  CHECK_BREAKS(counts_are_positive, catalog::chain_with_shards(stages{1}, -1));
  CHECK_BREAKS(stage_edges_ascend, catalog::chain_with_shards(stages{0}, 2));
}

TEST_CASE("blocks have room for the longest passes, whatever these are") {
  for (tick f : {1, 2, 7})
    for (tick b : {1, 4, 30})
      for (tick s : {0, 1, 9})
        for (tick t : {0, 2, 11})
          for (int p = 1; p <= 9; ++p) {
            CAPTURE(f);
            CAPTURE(b);
            CAPTURE(s);
            CAPTURE(t);
            CAPTURE(p);
            catalog::vocabulary_costs const c{{f, b, 0, f}, {s, t, 0, s}};
            CHECK(
                check(catalog::vocabulary_one_f_one_b(devices{p}, shard_gradient::of_backward, c)).ok());
            CHECK(
                check(catalog::vocabulary_one_f_one_b(devices{p}, shard_gradient::of_forward, c)).ok());
            CHECK(check(catalog::interlaced_one_f_one_b(devices{p}, c)).ok());
          }
}

TEST_CASE("longest passes are of stages and of shards, over all micro-batches") {
  catalog::vocabulary_costs const found = catalog::longest_passes(
      devices{2},
      pass_costs::by_stage_and_micro_batch(
          {{1, 2, 3}, {4, 1, 1}, {2, 9, 1}, {1, 1, 1}, {5, 1, 1}, {1, 1, 8}, {1, 7, 1}, {6, 1, 1}}, 2));
  CHECK(found.stage == stage_cost{4, 9, 3, 0});
  CHECK(found.shard == stage_cost{6, 7, 8, 0});
  CHECK_BREAKS(tables_agree, catalog::longest_passes(devices{2}, std::vector<stage_cost>(3)));
}

TEST_CASE("any passes may take no time, or all") {
  stage_cost const nothing{0, 0, 0};
  CHECK(catalog::longest_passes(devices{2}, nothing).stage == stage_cost{});
  CHECK(catalog::longest_passes(devices{2}, stage_cost{0, 0, 3}).shard == stage_cost{0, 0, 3, 0});
  for (char const* name : {"vocab-1", "vocab-2", "interlaced"})
    for (int takes = 0; takes < 64; ++takes) {
      auto const time = [&](int bit) { return tick{(takes >> bit) & 1} * (bit + 1); };
      std::vector<stage_cost> each(8, {time(0), time(1), time(2)});
      std::fill_n(each.begin() + 4, 4, stage_cost{time(3), time(4), time(5)});
      CAPTURE(std::string(name));
      CAPTURE(takes);
      schedule const s = catalog::find_any(name)->make({devices{4}, micro_batches{8}, costs(each)});
      CHECK(check(s).ok());
      CHECK((takes > 0 || makespan(s) == 0));
      CHECK(check(lower(s)).ok());
    }
  CHECK_BREAKS(counts_are_positive, catalog::vocabulary_one_f_one_b(
                                        devices{2}, shard_gradient::of_forward, {nothing, nothing}));
  CHECK_BREAKS(counts_are_positive, catalog::interlaced_one_f_one_b(devices{2}, {nothing, nothing}));
}

TEST_CASE("entries of vocabulary parallelism are found by name, valid, and proved as programs") {
  for (catalog::entry const& e : catalog::vocabulary_entries) {
    CAPTURE(std::string(e.name));
    CHECK(catalog::find_any(e.name) == &e);
    CHECK(catalog::find(e.name) == nullptr);
    CHECK((!std::string(e.summary).empty() && !std::string(e.source).empty()));
    CHECK_BREAKS(parameter_is_at_least, e.make({devices{0}, micro_batches{4}}));
    CHECK_BREAKS(parameter_is_at_least, e.make({devices{2}, micro_batches{0}}));
    CHECK(e.check({devices{1 << 30}, micro_batches{1}}).which == parameter::device_count);
    CHECK_BREAKS(tables_agree,
                 e.make({devices{4}, micro_batches{8}, costs(std::vector<stage_cost>(4))}));
    for (int p : {1, 2, 3, 5})
      for (int m : {1, 2, 7, 16}) {
        catalog::shape shape{devices{p}, micro_batches{m}};
        CHECK(check(e.block_of(shape)).ok());
        CHECK(e.block_of(shape).cost == costs{});
        CHECK(check(e.make(shape)).ok());
        std::vector<stage_cost> each;
        for (tick s = 0; s < 2 * p; ++s) each.push_back({1 + s % 4, 2 + s % 3, 3});
        shape.cost = costs(each, 2);
        schedule const s = e.make(shape);
        CHECK(s.cost == shape.cost);
        CHECK(check(s).ok());
        CHECK(check(lower(s)).ok());
        CHECK(check(lower(s, {.receives = receive_time::when_needed})).ok());
      }
  }
}

TEST_CASE("a backward of a shard that does not wait at the barrier is refused") {
  for (shard_gradient gradients : {shard_gradient::of_backward, shard_gradient::of_forward}) {
    // The last forward of the output layer takes four ticks more than the other.
    schedule s = catalog::vocabulary_one_f_one_b(devices{2}, gradients) | repeat(micro_batches{1})
                 | retime(costs(std::vector<stage_cost>{{}, {}, {}, {5, 1, 1}}));
    tick const meet = 2 + 5;
    int early = 0;
    for (auto& order : s.order)
      for (time_slot& t : order)
        if (t.what == pass{pass_kind::backward, 2, 0}) {
          CHECK(t.start == meet);
          t.start = meet - 1;
          ++early;
        }
    CHECK(early == 1);
    CHECK(check(s).broken == rule::no_pass_starts_before_its_input);
  }
}

}  // namespace
