#include <ashlar/optimize/periodic_extension.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace shapes;

namespace {

TEST_CASE("a round is of whole sequences") {
  schedule s = one_f_one_b(3, 16);
  CHECK((round_of(s) == 3 && is_long(s)));
  s.graph = in_sequence_chunks(s.graph, 2);
  CHECK((round_of(s) == 4 && !is_long(s)));
  s.graph = in_sequence_chunks(s.graph, 8);
  CHECK(round_of(s) == 8);
}

// A table of one stage's forwards, by micro-batch.
result_table<tick> starting_at(std::vector<tick> const& forward) {
  result_table<tick> start(1, static_cast<int>(forward.size()), 0);
  for (int i = 0; i < static_cast<int>(forward.size()); ++i)
    start.at(i, 0, result::activation) = forward[static_cast<std::size_t>(i)];
  return start;
}

std::vector<tick> extended_to(std::vector<tick> const& forward, extension_window s) {
  s.known = static_cast<int>(forward.size());
  extended_starts const longer(starting_at(forward), {{F, 0, 0}}, s);
  dynamic_array<pass> what;
  for (int i = 0; i < s.wanted; ++i) what.push_back({F, 0, i});
  return starts_of(longer, what);
}

TEST_CASE("some micro-batches as others, the rest moves along") {
  using ticks = std::vector<tick>;
  ticks const known{0, 1, 10, 14, 20, 50, 60};
  // 10 and 14 repeat, 10 apart, and then what followed comes.
  CHECK(extended_to(known, {.known = 7, .wanted = 11, .like = 2, .count = 2, .begin = 2, .end = 8})
        == ticks{0, 1, 10, 14, 20, 24, 30, 34, 40, 70, 80});
  // It copies to the end, from later on, and so much later.
  CHECK(extended_to(known, {.known = 7, .wanted = 7, .like = 2, .count = 2, .begin = 5, .end = 7})
        == ticks{0, 1, 10, 14, 20, 50, 56});
  // It begins before the place that it copies from.
  CHECK(extended_to(known, {.known = 7, .wanted = 7, .like = 4, .count = 1, .begin = 0, .end = 4})
        == ticks{0, 30, 60, 90, 120, 150, 160});
  // It does so two by two.
  CHECK(extended_to(known, {.known = 7, .wanted = 7, .like = 4, .count = 2, .begin = 0, .end = 4})
        == ticks{0, 30, 40, 70, 80, 110, 120});
  // It copies nothing.
  CHECK(extended_to(known, {.known = 7, .wanted = 7, .like = 1, .count = 3, .begin = 3, .end = 3})
        == known);
}

TEST_CASE("the slowest pass sets the period") {
  result_table<tick> start(2, 3, 0);
  for (int i = 0; i < 3; ++i) {
    start.at(i, 0, result::activation) = 3 * i;
    start.at(i, 1, result::activation) = 10 + 5 * i;
  }
  extension_window const s{.known = 3, .wanted = 5, .like = 0, .count = 1, .begin = 0, .end = 3};
  extended_starts const both(start, {{F, 0, 0}, {F, 1, 0}}, s);
  CHECK((both.period() == 5 && both.of({F, 0, 2}) == 10 && both.of({F, 1, 2}) == 20));
  CHECK((both.of({F, 0, 3}) == 15 && both.of({F, 0, 4}) == 18));
  CHECK((both.of({F, 1, 3}) == 27 && both.of({F, 1, 4}) == 32));  // as much later, though it need not be
  CHECK(extended_starts(start, {{F, 0, 0}}, s).period() == 3);
}

TEST_CASE("what is periodic stays as it is") {
  schedule const s = one_f_one_b(2, 8);
  list_scheduler d(s, chunk_activations(2));
  list_scheduler::solution t;
  CHECK(d.run(d.passes().orders, {}, {}, t));
  dynamic_array<pass> const& what = d.passes().what;
  // 1F1B repeats every micro-batch: any place but the last shows the same.
  extension_window const again{.known = 8, .wanted = 8, .like = 2, .count = 1, .begin = 3, .end = 6};
  CHECK(starts_of(extended_starts(start_table(t, what, s), {{F, 0, 0}, {B, 1, 0}}, again), what)
        == t.start);
}

}  // namespace
