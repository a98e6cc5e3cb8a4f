// The residency of weights in buffers that are mapped directly, as in the simplest of caches.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/schedule/residency.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// The stays on a device with these passes. `buffer_of(stage)` is the one of `buffers` that a stage has.
// A stage is gathered when a pass needs it and its buffer holds another one, `prefetch` passes ahead if
// the buffer is free by then. Linear, but for sorting.
template <class Buffer>
constexpr std::vector<weight_stay> direct_mapped_stays(list_view<timed_pass> passes, int buffers,
                                                       Buffer buffer_of, int prefetch) {
  auto const in_pair = [&](int second) {  // that overlaps: its stages have different buffers
    if (!closes_pair(passes, second)) return false;
    int const a = nth(passes, second - 1).what.stage, b = nth(passes, second).what.stage;
    return a == b || buffer_of(a) != buffer_of(b);
  };
  dynamic_array<int> held(static_cast<std::size_t>(buffers), -1);  // the stay in each buffer
  std::vector<weight_stay> stays;
  for (int i = 0; i < static_cast<int>(passes.size()); ++i) {
    pass const what = nth(passes, i).what;
    if (is_part(what)) continue;
    int const own = buffer_of(what.stage);
    int& stay = nth(held, own);
    if (stay < 0 || nth(stays, stay).stage != what.stage) {
      int const last = stay < 0 ? -1 : nth(stays, stay).last;
      int fetch = max_of(i - prefetch, last + 1);
      if (in_pair(fetch)) fetch += last < fetch - 1 ? -1 : 1;
      stay = static_cast<int>(stays.size());
      stays.push_back({what.stage, own, fetch, i});
    }
    nth(stays, stay).last = i;
  }
  merge_sort(stays, [](weight_stay const& a, weight_stay const& b) { return a.fetch < b.fetch; });
  return stays;
}

}  // namespace ashlar
