#include <ashlar/core/pass_costs.hpp>
// The header above comes first: it needs nothing before it.

#include "violations.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using namespace ashlar;

namespace {

TEST_CASE("costs of a stage's passes") {
  CHECK(stage_cost{} == stage_cost{1, 1, 1, stage_cost::same_as_forward});
  CHECK(pass_costs{}.are_alike());
  stage_cost const c{.forward = 2, .backward_input = 3, .backward_weight = 5};
  CHECK(c.of(pass_kind::forward) == 2);
  CHECK(c.of(pass_kind::recompute) == 2);  // as long as a forward unless stated otherwise
  CHECK(c.of(pass_kind::backward) == 8);
  CHECK(c.of(pass_kind::backward_input) == 3);
  CHECK(c.of(pass_kind::backward_weight) == 5);
  CHECK(c.of(pass_kind::work) == 0);  // its job says
  CHECK(stage_cost{2, 3, 5, 7}.of(pass_kind::recompute) == 7);
}

TEST_CASE("sums and changes of a stage's costs") {
  stage_cost sum = stage_cost::nothing();
  CHECK(sum == stage_cost{0, 0, 0, 0});
  sum.add({1, 2, 3});  // its recompute takes as long as its forward
  CHECK(sum == stage_cost{1, 2, 3, 1});
  sum.add({10, 20, 30, 40});
  CHECK(sum == stage_cost{11, 22, 33, 41});
  stage_cost kept{1, 2, 3};
  kept.add({4, 5, 6, 7});  // a sum has its own recompute, even if its first cost had none
  CHECK(kept == stage_cost{5, 7, 9, 8});
  sum.add({max_tick, max_tick, max_tick, max_tick});
  CHECK(sum == stage_cost{max_tick, max_tick, max_tick, max_tick});
  auto const twice = [](stage_cost c) {
    c.change_each([](tick& each) { each *= 2; });
    return c;
  };
  CHECK(twice({1, 2, 3, 4}) == stage_cost{2, 4, 6, 8});
  CHECK(twice({1, 2, 3}) == stage_cost{2, 4, 6});
}

TEST_CASE("chunks of a sequence have their own times") {
  // Stages 0 and 1, each of a sequence's first and second chunk.
  auto c =
      pass_costs::by_stage_and_sequence_chunk({{1, 2, 3}, {4, 5, 6, 9}, {7, 8, 9}, {10, 11, 12}}, 2);
  auto const forward = [&](int stage, int k) { return c.of(stage, k).forward; };
  CHECK((forward(0, 0) == 1 && forward(0, 1) == 4 && forward(1, 0) == 7 && forward(1, 1) == 10));
  CHECK((forward(0, 6) == 1 && forward(1, 7) == 10));  // of the fourth sequence
  CHECK((c.of(1, 1).backward_weight == 12 && c.of(1).backward_weight == 9));
  CHECK((c.stages() == 2 && c.sequence_chunks() == 2 && c.micro_batches() == 0 && !c.are_alike()));
  c = pass_costs::by_stage_and_sequence_chunk({{1, 2, 3}, {4, 5, 6}}, 2);  // for all stages
  CHECK((forward(0, 5) == 4 && forward(3, 4) == 1 && forward(3, 5) == 4 && c.stages() == 0));
  pass_costs const of_stages = pass_costs::by_stage({{1, 2, 3}, {4, 5, 6}});
  CHECK((of_stages != c && of_stages.of(1, 0).forward == 4 && of_stages.sequence_chunks() == 1));
  CHECK(pass_costs::by_stage_and_sequence_chunk({{4, 5, 6}}, 1) == pass_costs(stage_cost{4, 5, 6}));
}

TEST_CASE("what may be changed is what is read, for every micro-batch") {
  pass_costs all = pass_costs::by_stage_and_sequence_chunk({{1}, {2}, {3}, {4}}, 2);
  pass_costs const same = all;
  for (int stage : {0, 1})
    for (int k = 0; k < 5; ++k) CHECK(all.at(stage, k) == same.of(stage, k));
  CHECK((same.of(0, 3).forward == 2 && same.of(1, 4).forward == 3));
}

TEST_CASE("micro-batches have their own times") {
  auto const c = pass_costs::by_stage_and_micro_batch({{1}, {2}, {3}, {4}, {5}, {6}}, 3);
  CHECK((c.of(0, 2).forward == 3 && c.of(1, 0).forward == 4 && c.of(1, 2).forward == 6));
  CHECK((c.stages() == 2 && c.sequence_chunks() == 1 && c.micro_batches() == 3 && c.period() == 3));
  auto const alike = pass_costs::by_stage_and_micro_batch({{1}, {2}}, 2);
  CHECK((alike.stages() == 0 && alike.of(7, 1).forward == 2));
  CHECK(alike != pass_costs::by_stage_and_sequence_chunk({{1}, {2}}, 2));
  // It stands for one micro-batch alone, for no other number of them.
  CHECK(pass_costs::by_stage_and_micro_batch({{1}}, 1).micro_batches() == 1);
}

TEST_CASE("micro-batches of classes take what their class takes") {
  auto const c = pass_costs::by_class({{1}, {2}, {10}, {20}}, 2, {1, 0, 0, 1});
  CHECK(c == pass_costs::by_stage_and_micro_batch({{2}, {1}, {1}, {2}, {20}, {10}, {10}, {20}}, 4));
  CHECK(pass_costs::by_class({{1}, {2}}, 2, {1, 1, 0}).stages() == 0);
  CHECK_BREAKS(tables_agree, pass_costs::by_class({{1}, {2}}, 2, {0, 2}));
  CHECK_BREAKS(tables_agree, pass_costs::by_class({{1}, {2}}, 2, {0, -1}));
  CHECK_BREAKS(tables_agree, pass_costs::by_class({{1}, {2}, {3}}, 2, {0}));
  CHECK_BREAKS(counts_are_positive, pass_costs::by_class({{1}}, 0, {}));
  CHECK_BREAKS(counts_are_positive, pass_costs::by_class({{1}}, 1, {}));
}

TEST_CASE("tables of costs that cannot be") {
  CHECK_BREAKS(tables_agree, pass_costs(std::vector<stage_cost>{}));
  CHECK_BREAKS(tables_agree, pass_costs::by_stage({}));
  CHECK_BREAKS(tables_agree, pass_costs::by_stage_and_sequence_chunk({{}, {}, {}}, 2));
  CHECK_BREAKS(tables_agree, pass_costs::by_stage_and_sequence_chunk({}, 2));
  CHECK_BREAKS(tables_agree, pass_costs::by_stage_and_micro_batch({{}, {}, {}}, 2));
  CHECK_BREAKS(counts_are_positive, pass_costs::by_stage_and_sequence_chunk({{}}, 0));
  CHECK_BREAKS(counts_are_positive, pass_costs::by_stage_and_micro_batch({{}}, -1));
}

TEST_CASE("all that is told apart is visited, and changed") {
  auto c = pass_costs::by_stage_and_sequence_chunk({{1}, {2}, {3}, {4}}, 2);
  std::vector<std::pair<int, int>> seen;
  c.for_each([&](int stage, int chunk, stage_cost const& one) {
    seen.emplace_back(stage, chunk);
    CHECK(one == c.of(stage, chunk));
  });
  CHECK(seen == std::vector<std::pair<int, int>>{{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  c.change_each([](stage_cost& one) { one.forward *= 10; });
  c.at(1, 0).forward = 7;
  CHECK(c == pass_costs::by_stage_and_sequence_chunk({{10}, {20}, {7}, {40}}, 2));
}

TEST_CASE("a pass takes no time on any stage, or none does") {
  CHECK_FALSE(pass_costs(std::vector<stage_cost>(3)).has_instants());
  CHECK(pass_costs({{.forward = 0}, {}}).has_instants());  // the first stage, or the last
  CHECK(pass_costs({{}, {.recompute = 0}}).has_instants());
  for (tick stage_cost::*kind : {&stage_cost::forward, &stage_cost::backward_input,
                                 &stage_cost::backward_weight, &stage_cost::recompute}) {
    std::vector<stage_cost> each(3);
    each[2].*kind = 0;
    CHECK(pass_costs(each).has_instants());
  }
  pass_costs pair(std::vector<stage_cost>(1));
  pair.overlapped = 0;
  CHECK(pair.has_instants());
}

}  // namespace
