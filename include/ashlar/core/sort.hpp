// Sorting. std::sort would do, but <algorithm> is expensive to include, and each list that it sorts is
// expensive to instantiate. Each file that includes a header pays for both.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
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

// An element of another list, by its index, and its key.
struct keyed_index {
  tick key;
  std::size_t index;
};

// Compares by key, and equal keys by index.
template <class List>
constexpr void sort_by_key(List& list) {
  merge_sort(list, [](keyed_index const& a, keyed_index const& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  });
}

// The elements by their keys, which lie between two bounds; those of one key keep their order. Linear
// where the bounds are not much farther apart than there are elements, which is also cheap in constant
// evaluation; else O(n log n).
template <class T, class Key>
constexpr dynamic_array<T> sorted_by(dynamic_array<T> const& list, tick least, tick most, Key key) {
  std::size_t const n = list.size(), range = static_cast<std::size_t>(most - least);
  dynamic_array<T> sorted(n);
  if (range <= 4 * n + 64) {  // counting
    dynamic_array<std::size_t> next(range + 2, 0);
    for (T const& each : list) ++next[static_cast<std::size_t>(key(each) - least) + 1];
    for (std::size_t at = 1; at < next.size(); ++at) next[at] += next[at - 1];
    for (T const& each : list) sorted[next[static_cast<std::size_t>(key(each) - least)]++] = each;
  } else {
    dynamic_array<keyed_index> order;
    order.reserve(n);
    for (std::size_t i = 0; i < n; ++i) order.push_back({key(list[i]), i});
    sort_by_key(order);
    for (std::size_t i = 0; i < n; ++i) sorted[i] = list[order[i].index];
  }
  return sorted;
}

}  // namespace ashlar
