#include <ashlar/core/sort.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace ashlar;

namespace {

// Compares with std::stable_sort: all lists of up to seven of three keys, each element with its place.
TEST_CASE("a sort is stable, and by key then index") {
  constexpr std::size_t longest = 7;
  for (std::size_t n = 0, lists = 1; n <= longest; ++n, lists *= 3)
    for (std::size_t number = 0; number < lists; ++number) {
      std::vector<keyed_index> list, turned;
      for (std::size_t i = 0, rest = number; i < n; ++i, rest /= 3)
        list.push_back({static_cast<tick>(rest % 3), i});
      for (std::size_t i = n; i > 0; --i) turned.push_back(list[i - 1]);
      auto const by_key = [](keyed_index const& a, keyed_index const& b) { return a.key < b.key; };
      std::vector<keyed_index> merged = turned, known = turned;
      merge_sort(merged, by_key);
      sort_by_key(turned);
      for (std::size_t i = 1; i < n; ++i)
        CHECK((by_key(turned[i - 1], turned[i])
               || (turned[i - 1].key == turned[i].key && turned[i - 1].index < turned[i].index)));
      std::stable_sort(known.begin(), known.end(), by_key);
      for (std::size_t i = 0; i < n; ++i) CHECK(merged[i].index == known[i].index);
    }
}

// Dense keys are counted, others compared.
TEST_CASE("elements in the order of keys between bounds") {
  for (tick const apart : {1, 7, 1000}) {
    dynamic_array<keyed_index> list;
    for (std::size_t i = 0; i < 50; ++i)
      list.push_back({static_cast<tick>(i * 31 % 10) * apart - 4 * apart, i});
    std::vector<keyed_index> known(list.begin(), list.end());
    std::stable_sort(known.begin(), known.end(),
                     [](keyed_index const& a, keyed_index const& b) { return a.key < b.key; });
    dynamic_array<keyed_index> const sorted =
        sorted_by(list, -4 * apart, 5 * apart, [](keyed_index const& k) { return k.key; });
    REQUIRE(sorted.size() == known.size());
    for (std::size_t i = 0; i < known.size(); ++i) CHECK(sorted[i].index == known[i].index);
  }
  CHECK(sorted_by(dynamic_array<tick>(), 0, 0, [](tick t) { return t; }).empty());
}

}  // namespace
