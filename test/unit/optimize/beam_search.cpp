#include <ashlar/optimize/beam_search.hpp>
// The header above comes first: it needs nothing before it.
#include "random_cases.hpp"
#include "shapes.hpp"
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/search/seeds.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace shapes;

namespace {

// The devices have room for one micro-batch alone.
schedule tight(std::vector<stage_cost> const& each, int m) {
  return one_after_another(looped(devices{2}, chunks{2}), micro_batches{m}, costs(each));
}

// The optima are those of a constraint solver.
TEST_CASE("a beam finds the shortest orders where memory leaves few") {
  struct known {
    std::vector<stage_cost> each;
    int m;
    tick least;
  };
  for (known const& k : {known{{{2, 2, 2}, {7, 9, 0}, {9, 0, 3}, {4, 3, 9}}, 4, 139},
                         known{{{2, 9, 1}, {9, 9, 2}, {8, 2, 2}, {9, 9, 5}}, 5, 250}}) {
    schedule const s = tight(k.each, k.m);
    memory_limit const limit = chunk_activations(2);
    justifier search(s, limit, {.passes = 1'000'000, .aim = objective::makespan});
    search.consider(s);
    beam_search(search, limit).run(search.best(), 100);
    CHECK(search.best().makespan == k.least);
    CHECK((check(search.result()).ok() && is_within(search.result(), limit)));
    CHECK(search.spent() < 200'000);
  }
}

TEST_CASE("a wider beam costs more, and both give the same orders again") {
  for (objective const aim : {objective::span, objective::makespan, objective::both}) {
    schedule const s = uneven_v(3, 6, 3);
    memory_limit const limit = chunk_activations(4);
    std::int64_t before = 0;
    for (std::size_t const width : {1U, 8U, 64U}) {
      CAPTURE(width);
      justifier search(s, limit, {.passes = 10'000'000, .aim = aim}), again = search;
      for (justifier* each : {&search, &again}) {
        each->justify(each->passes().orders, {{96}, {}, {}});
        REQUIRE(each->found());
        beam_search(*each, limit).run(each->best(), width);
      }
      CHECK((search.result() == again.result() && search.spent() == again.spent()));
      CHECK((check(search.result()).ok() && is_within(search.result(), limit)));
      CHECK(search.spent() > before);
      before = search.spent();
    }
  }
}

TEST_CASE("a beam ends with the budget") {
  schedule const s = uneven_v(3, 6, 3);
  memory_limit const limit = chunk_activations(4);
  justifier search(s, limit, {.passes = 400, .aim = objective::makespan});
  search.justify(search.passes().orders, {{96}, {}, {}});
  tick const before = search.best().makespan;
  beam_search(search, limit).run(search.best(), 50);
  CHECK((search.spent() >= 400 && search.spent() < 400 + 50 * 20));
  CHECK(search.best().makespan == before);
}

TEST_CASE("the width that a budget allows") {
  schedule const s = tight({{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, 8);  // 96 passes, 2 devices
  CHECK(beam_width(0, s) == 0);
  CHECK(beam_width(std::int64_t{96} * 7 * 20, s) == 20);
}

}  // namespace
