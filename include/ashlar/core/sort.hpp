// Sorting. std::sort would do, but <algorithm> is expensive to include, and each list that it sorts is
// expensive to instantiate. Whoever includes a header pays for both.
#pragma once

#include <ashlar/core/ticks.hpp>

#include <cstddef>

namespace ashlar {

// Sorts by `before`; elements that it does not distinguish keep their order. O(n log n), linear for a
// list that is sorted already. Needs room for a copy of the list.
template <class List, class Before>
constexpr void merge_sort(List& list, Before before) {
  std::size_t const n = list.size();
  std::size_t sorted = 1;
  while (sorted < n && !before(list.data()[sorted], list.data()[sorted - 1])) ++sorted;
  if (sorted >= n) return;
  List other(list);
  for (std::size_t length = 1; length < n; length *= 2) {  // of the runs that are sorted
    auto const* const from = list.data();
    auto* to = other.data();
    for (std::size_t first = 0; first < n; first += 2 * length) {
      std::size_t const middle = n - first < length ? n : first + length;
      std::size_t const last = n - middle < length ? n : middle + length;
      std::size_t left = first, right = middle;
      while (left < middle && right < last)
        *to++ = before(from[right], from[left]) ? from[right++] : from[left++];
      while (left < middle) *to++ = from[left++];
      while (right < last) *to++ = from[right++];
    }
    list.swap(other);
  }
}

// An element of another list, by its index, and what it is sorted by.
struct keyed_index {
  tick key = 0;
  std::size_t index = 0;
};

// Compares by key, and equal keys by index.
template <class List>
constexpr void sort_by_key(List& list) {
  merge_sort(list, [](keyed_index const& a, keyed_index const& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  });
}

}  // namespace ashlar
