// A read-only view of consecutive elements. It is std::span with plain pointers for iterators: each
// call of a class iterator costs steps of constant evaluation, and the proofs of programs at compile
// time run in these loops. <span> is also expensive to include.
#pragma once

#include <ashlar/core/language.hpp>

#include <cstddef>

namespace ashlar {

template <class T>
struct list_view {
  T const* first = nullptr;
  T const* last = nullptr;

  constexpr list_view() = default;
  constexpr list_view(T const* begin, T const* end) : first(begin), last(end) {}
  // The view of a vector or an array, which must outlive it.
  template <class List>
  constexpr list_view(List const& list) : first(list.data()), last(list.data() + list.size()) {}

  constexpr T const* begin() const { return first; }
  constexpr T const* end() const { return last; }
  constexpr T const* data() const { return first; }
  constexpr std::size_t size() const { return static_cast<std::size_t>(last - first); }
  constexpr bool empty() const { return first == last; }
  constexpr T const& operator[](std::size_t i) const { return first[i]; }

  // As core/nth.hpp, with a call less.
  template <class Number>
  friend constexpr T const& nth(list_view const& list, Number i) {
    return list.first[static_cast<std::size_t>(i)];
  }
};

// Valid while the list exists and keeps its length.
template <class List>
constexpr auto view_of(List const& list) {
  return list_view<typename List::value_type>{list.data(), list.data() + list.size()};
}

}  // namespace ashlar
