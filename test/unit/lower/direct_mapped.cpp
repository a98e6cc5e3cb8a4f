#include <ashlar/lower/direct_mapped.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include <ashlar/schedule/residency.hpp>

#include <doctest/doctest.h>

#include <cstddef>
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

}  // namespace
