#include <ashlar/lower/direct_mapped.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "random_order.hpp"
#include <ashlar/schedule/residency.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <vector>

using namespace ashlar;

namespace {

// Whether stay `a` keeps its buffer from `b`, which is gathered later.
bool is_in_the_way(weight_stay const& a, weight_stay const& b) {
  return a.buffer == b.buffer && b.fetch <= a.last;
}

// How many stays have the weights of a pass.
int stays_at(std::vector<weight_stay> const& all, int stage, int position) {
  int count = 0;
  for (weight_stay const& one : all)
    count += one.stage == stage && one.fetch <= position && position <= one.last;
  return count;
}

TEST_CASE(
    "direct mapped: each pass has its weights, in the order of their gathers, no two in one buffer") {
  for (catalog_case const& c : catalog_cases({2, 3}, {4, 6})) {
    CAPTURE(c);
    schedule const s = c.schedule();
    for (auto const& order : s.order)
      for (int const buffers : {1, 2, 3})
        for (int const prefetch : {0, 1, 3}) {
          dynamic_array<timed_pass> const passes = numbered_passes(order);
          auto const buffer_of = [&](int stage) { return stage % buffers; };
          std::vector<weight_stay> const all =
              direct_mapped_stays(view_of(passes), buffers, buffer_of, prefetch);
          for (std::size_t i = 0; i < passes.size(); ++i)
            if (pass const what = passes[i].what; !is_part(what))
              CHECK(stays_at(all, what.stage, static_cast<int>(i)) == 1);
          for (std::size_t i = 0; i < all.size(); ++i) {
            CHECK((i == 0 || all[i - 1].fetch <= all[i].fetch));
            for (std::size_t j = 0; j < i; ++j) CHECK_FALSE(is_in_the_way(all[j], all[i]));
            // A gather does not stand within a pair whose stages have buffers of their own.
            if (all[i].fetch == 0) continue;
            auto const before = static_cast<std::size_t>(all[i].fetch) - 1;
            if (!opens_pair(view_of(passes), before)) continue;
            int const a = passes[before].what.stage, b = passes[before + 1].what.stage;
            CHECK((a != b && buffer_of(a) == buffer_of(b)));
          }
        }
  }
}

// Beside a gather that may not stand within a pair are places on both sides; the earlier one is taken if
// the buffer is free there.
TEST_CASE("direct mapped: a gather stands as near as can be to where it is asked for") {
  for (unsigned seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    random_case::dice d(seed);
    schedule const s = random_case::random_order(d, d.between(1, 5), d.between(1, 15));
    int const buffers = d.between(1, 4), prefetch = d.between(0, 4);
    dynamic_array<timed_pass> const passes = numbered_passes(s.order[0]);
    auto const stage_of = [&](int i) { return nth(passes, i).what.stage; };
    std::vector<weight_stay> expected;
    std::vector<int> held(static_cast<std::size_t>(buffers), -1);  // the stay in each buffer
    for (int i = 0; i < static_cast<int>(passes.size()); ++i) {
      if (is_part(nth(passes, i).what)) continue;
      int& stay = nth(held, stage_of(i) % buffers);
      if (stay < 0 || nth(expected, stay).stage != stage_of(i)) {
        int const first = stay < 0 ? 0 : nth(expected, stay).last + 1;  // where the buffer is free
        int best = -1;
        auto const distance = [&](int place) { return std::abs(place - std::max(i - prefetch, first)); };
        for (int place = first; place <= i; ++place) {
          bool const overlaps = place > 0 && nth(passes, place - 1).slot == nth(passes, place).slot
                                && (stage_of(place - 1) == stage_of(place)
                                    || stage_of(place - 1) % buffers != stage_of(place) % buffers);
          if (!overlaps && (best < 0 || distance(place) < distance(best))) best = place;
        }
        stay = static_cast<int>(expected.size());
        expected.push_back({stage_of(i), stage_of(i) % buffers, best, i});
      }
      nth(expected, stay).last = i;
    }
    std::stable_sort(expected.begin(), expected.end(),
                     [](weight_stay const& a, weight_stay const& b) { return a.fetch < b.fetch; });
    CHECK(direct_mapped_stays(
              view_of(passes), buffers, [&](int stage) { return stage % buffers; }, prefetch)
          == expected);
  }
}

}  // namespace
