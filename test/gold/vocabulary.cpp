// Yeung, Qi, Lin, Wan: Balancing Pipeline Parallelism with Vocabulary Parallelism (2024), section 5: p +
// 2 micro-batches are in flight with two barriers, p + 1 with one, 1.5 p interlaced; and the bubble is
// that of 1F1B.
#include <ashlar/bounds/graph_bound.hpp>
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>
#include <vector>

using namespace ashlar;

namespace {

// The micro-batches in flight on the chain alone.
std::vector<int> micro_batches_in_flight(schedule const& s) {
  std::vector<int> most;
  for (auto const& order : s.order) {
    int held = 0, peak = 0;
    for (timed_pass const t : each_pass(order)) {
      if (t.what.stage >= s.device_count()) continue;
      held += t.what.kind == pass_kind::forward ? 1 : -1;
      peak = std::max(peak, held);
    }
    most.push_back(peak);
  }
  return most;
}

template <class Look>
void sweep_shards(Look look) {
  for (catalog::vocabulary_costs const& c : {catalog::vocabulary_costs{{10, 10, 10}, {2, 2, 2}},
                                             {{10, 10, 10}, {4, 2, 0}},
                                             {{5, 9, 3}, {0, 1, 0}},
                                             {{7, 8, 8}, {1, 1, 1}}})
    for (int p = 1; p <= 16; p += p < 5 ? 1 : 3)
      for (int m = 1; m <= 48; m += m < 9 ? 1 : 5) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(c.stage.forward);
        CAPTURE(c.shard.forward);
        std::vector<stage_cost> each(static_cast<std::size_t>(2 * p), c.shard);
        std::fill_n(each.begin(), p, c.stage);
        look(p, m, c, [&](std::string_view name) {
          return catalog::find_any(name)->make({devices{p}, micro_batches{m}, costs(each)});
        });
      }
}

// `more`: turns by which a step may be longer than with the bubble of 1F1B.
template <class InFlight>
void vocabulary_is(std::string_view name, double more, InFlight in_flight) {
  sweep_shards([&](int p, int m, catalog::vocabulary_costs const& c, auto make) {
    schedule const s = make(name);
    CHECK(check(s).ok());
    tick const step = m * c.turn() + (p - 1) * (c.forward() + c.backward());
    CHECK(makespan(s) >= step);
    CHECK(static_cast<double>(makespan(s) - step) <= more * static_cast<double>(c.turn()));
    CHECK(graph_bound(s).makespan <= step);
    std::vector<int> const held = micro_batches_in_flight(s);
    for (int d = 0; d < p; ++d) CHECK(held[static_cast<std::size_t>(d)] == std::min(m, in_flight(p, d)));
  });
}

TEST_CASE("Vocab-1: two barriers, (p-1)(f+b) and at most a quarter of a turn, p - d + 2 micro-batches") {
  vocabulary_is("vocab-1", 0.25, [](int p, int d) { return p - d + 2; });
}

TEST_CASE("Vocab-2: one barrier, bubble (p-1)(f+b), p - d + 1 micro-batches") {
  vocabulary_is("vocab-2", 0, [](int p, int d) { return p - d + 1; });
}

TEST_CASE("interlaced: bubble (p-1)(f+b), p - d + ceil((p-1-d)/2) micro-batches, 1.5 p on device 0") {
  vocabulary_is("interlaced", 0, [](int p, int d) { return p - d + (p - d) / 2; });
}

}  // namespace
