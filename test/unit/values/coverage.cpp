#include <ashlar/values/coverage.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "shapes.hpp"

#include <doctest/doctest.h>

using namespace shapes;

namespace {

using share_list = std::vector<double>;

TEST_CASE("the coverage of 1F1B") {
  schedule const s = one_f_one_b(4, 8);
  CHECK(coverage(s, stage_id{0}) == share_list{.5, .625, .75, .875, 1, 1, 1, 1});
  CHECK(coverage(s, stage_id{3}) == share_list{.125, .25, .375, .5, .625, .75, .875, 1});
  CHECK(coverage(s, stage_id{2}, micro_batch_id{1}) == .375);
  double const means[] = {.84375, .765625, .671875, .5625};
  for (int stage = 0; stage < 4; ++stage) CHECK(mean_coverage(s, stage_id{stage}) == means[stage]);
  CHECK(mean_coverage(one_f_one_b(8, 32), stage_id{0}) == 0.70703125);
  CHECK(mean_coverage(one_f_one_b(8, 32), stage_id{7}) == 0.515625);
}

TEST_CASE("split backwards are covered when they begin") {
  // The start of the input pass counts, wherever the weight pass is.
  schedule s{.graph = chain(stages{1}),
             .where = linear(devices{1}),
             .route = {0, 0},
             .cost = costs(stage_cost{1, 1, 1}),
             .order = {{{{F, 0, 0}, 0},
                        {{I, 0, 0}, 1},
                        {{F, 0, 1}, 2},
                        {{I, 0, 1}, 3},
                        {{W, 0, 0}, 4},
                        {{W, 0, 1}, 5}}}};
  CHECK(coverage(s, stage_id{0}) == share_list{.5, 1});
}

TEST_CASE("the coverage is whole where all forwards come first") {
  schedule const s = catalog::find("gpipe")->make({devices{3}, micro_batches{4}});
  for (int stage = 0; stage < 3; ++stage) CHECK(coverage(s, stage_id{stage}) == share_list(4, 1.0));
  // The last forward ends when the first backward of the last stage starts: not so with an all-reduce.
  CHECK(coverage(s, stage_id{2}, tick{1}) == share_list{.75, 1, 1, 1});
}

TEST_CASE("nothing is covered where nothing goes back") {
  schedule s = one_f_one_b(2, 3);
  s.mode = execution_mode::inference;
  for (auto& order : s.order) std::erase_if(order, [](time_slot const& t) { return t.what.kind != F; });
  CHECK(coverage(s, stage_id{1}) == share_list(3, 0.0));
  CHECK(mean_coverage(schedule{}, stage_id{0}) == 0);
}

TEST_CASE("micro-batches of several units are covered together") {
  // Stage 1 has a pass for two micro-batches, which both need.
  schedule s{.graph = in_micro_batches(chain(stages{2}), {1, 2}),
             .where = linear(devices{2}),
             .route = {0, 0, 0, 0},
             .cost = costs(stage_cost{1, 1, 1}),
             .order = {{}, {{{F, 1, 0}, 0}, {{B, 1, 0}, 2}, {{F, 1, 2}, 6}, {{B, 1, 2}, 8}}}};
  CHECK(coverage(s, stage_id{1}) == share_list{.5, .5, 1, 1});
}

TEST_CASE("replicas are covered together") {
  // Stage 0 lives on both devices; the counts of either reach the other.
  schedule const s = two_ways(2) | repeat(micro_batches{2}) | squeeze();
  int before = 0;
  tick start = 0;
  for (auto const& order : s.order)
    for (timed_pass const t : each_pass(order))
      if (t.what == pass{B, 0, 1}) start = t.start;
  for (std::size_t d = 0; d < 2; ++d)
    for (timed_pass const t : each_pass(s.order[d]))
      before += t.what.kind == F && t.what.stage == 0 && s.end_of(t, static_cast<int>(d)) <= start;
  CHECK((before == 2 && coverage(s, stage_id{0}, micro_batch_id{1}) == 1));
}

}  // namespace

TEST_CASE("coverage: no delay covers more, and squeezed work goes on counting") {
  for (catalog_case const& c : catalog_cases({4}, {8})) {
    CAPTURE(c);
    schedule const s = c.schedule();
    if (s.mode == execution_mode::inference) continue;
    for (int stage = 0; stage < s.stage_count(); ++stage) {
      share_list const now = coverage(s, stage_id{stage}), later = coverage(s, stage_id{stage}, tick{3});
      for (std::size_t k = 0; k < now.size(); ++k) {
        CHECK(now[k] > 0);  // at least its own
        CHECK(later[k] <= now[k]);
      }
    }
  }
}
