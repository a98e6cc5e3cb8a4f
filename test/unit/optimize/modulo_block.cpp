#include <ashlar/optimize/modulo_block.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/optimize/improve.hpp>
#include <ashlar/optimize/modulo_search.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/search/seeds.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

using namespace shapes;

namespace {

TEST_CASE("turns of a device give every pass its start") {
  schedule const s = split_backward(one_f_one_b(1, 4));  // passes of 1 tick, nobody else to wait for
  CHECK(least_period(s) == 3);
  modulo_block block(s, chunk_activations(1), 4);
  CHECK((block.pass_count() == 3 && block.devices()[0].order.size() == 4));  // one tick is left over
  CHECK((block.cost() == 6 && block.too_many() == 0));
  modulo_block::turns t = block.devices()[0];
  CHECK(block.start_of({W, 0, 2}) == 2 + 2 * 4);
  std::swap(t.order[1], t.order[2]);  // the weight pass comes a period later then
  t.first = 3;
  block.set(0, t);
  CHECK((block.cost() == 2 * 6 + 4 && block.too_many() == 1));
  CHECK((block.start_of({F, 0, 0}) == 3 && block.start_of({I, 0, 0}) == 5
         && block.start_of({W, 0, 0}) == 8));
}

// Repeats the block as it is.
schedule repeated(schedule s, modulo_block const& block) {
  for (auto& order : s.order) {
    for (time_slot& t : order) t.start = block.start_of(t.what);
    std::sort(order.begin(), order.end(),
              [](time_slot const& a, time_slot const& b) { return a.start < b.start; });
  }
  return s;
}

// Checks any turns: the repetition is a valid schedule, and holds as much more as claimed.
void check_repeated(schedule const& s, memory_limit const& limit, tick period, unsigned seed) {
  justifier search(s, limit, {.seed = seed});
  modulo_block block(s, limit, period);
  anneal(search, block, 0);
  tick const at_random = block.cost();
  schedule const made = repeated(s, block);
  CHECK(check(made).ok());
  byte_count above = 0;
  std::vector<byte_count> const peaks = peak_memory(made, limit.memory);
  for (std::size_t d = 0; d < peaks.size(); ++d)
    above += std::max<byte_count>(peaks[d] - limit.budget_of(static_cast<int>(d)), 0);
  CHECK(above == block.too_many());
  CHECK(anneal(search, block, 300) < at_random);
  CHECK(check(repeated(s, block)).ok());
}

TEST_CASE("what a modulo block repeats is a schedule, whose memory it knows") {
  for (unsigned seed = 1; seed < 9; ++seed) {
    check_repeated(uneven_v(3, 40, 2), chunk_activations(5), 60 + seed % 3, seed);
    schedule const cut =
        one_after_another(v_shape(devices{2}), micro_batches{20}, costs(stage_cost{10, 13, 7}, 1), 2);
    check_repeated(cut, chunk_activations(3), least_period(cut), seed);
    schedule const again = recompute(uneven_v(2, 40, 1), {0});
    check_repeated(again, chunk_activations(2), least_period(again) + 1, seed);
  }
}

TEST_CASE("a search begins with modulo blocks where they nearly fit, within its share") {
  schedule const s = uneven_v(4, 24, 1);
  search_budget const e{.passes = 2'000'000, .aim = objective::span};
  justifier roomy(s, chunk_activations(8), e);
  improve_modulo_blocks(roomy, chunk_activations(8), 400'000);
  REQUIRE(roomy.found());
  CHECK(roomy.best().span < span(s));
  CHECK(check(roomy.result()).ok());
  CHECK(is_within(roomy.result(), chunk_activations(8)));
  CHECK(roomy.spent() < 450'000);
  justifier scarce(s, chunk_activations(2), e);
  improve_modulo_blocks(scarce, chunk_activations(2), 400'000);
  CHECK(!scarce.found());
  CHECK(scarce.spent() < 100'000);
  justifier hurried(s, chunk_activations(8), e);
  improve_modulo_blocks(hurried, chunk_activations(8), 100);
  CHECK(hurried.spent() == 0);
}

}  // namespace
