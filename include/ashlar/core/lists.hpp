// Many lists in one array. A vector of vectors would do, but a compiler takes long to instantiate it for
// each type of element, and it lies all over memory.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/list_view.hpp>
#include <ashlar/core/nth.hpp>

#include <cstddef>

namespace ashlar {

// Lists with numbers from 0 on, which keep their lengths.
template <class T>
class lists {
 public:
  constexpr lists() = default;
  // Calls `visit(add)`, which calls add(number, element) for each element that list `number` gets next.
  // It is called twice, to count and to fill, and has to say the same both times. Linear.
  template <class Visit>
  constexpr lists(std::size_t count, Visit visit) : begin_(count + 2, 0) {
    visit([&](auto number, T const&) { ++nth(begin_, number + 2); });
    for (std::size_t i = 2; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    all_ = dynamic_array<T>(begin_.back());
    visit([&](auto number, T const& element) { all_[nth(begin_, number + 1)++] = element; });
    begin_.pop_back();
  }

  constexpr std::size_t size() const { return begin_.empty() ? 0 : begin_.size() - 1; }
  constexpr list_view<T> operator[](std::size_t number) const {
    return {all_.data() + begin_[number], all_.data() + begin_[number + 1]};
  }

 private:
  dynamic_array<std::size_t> begin_;  // of each list, and the end
  dynamic_array<T> all_;
};

// Read-only access to lists that lie one after the other in an array.
template <class T>
struct lists_view {
  list_view<int> begin;  // of each list, and the end
  list_view<T> all;

  constexpr int size() const { return static_cast<int>(begin.size()) - 1; }
  constexpr list_view<T> operator[](int number) const {
    return {all.data() + nth(begin, number), all.data() + nth(begin, number + 1)};
  }
};

// Lists that are written one after the other.
template <class T>
class written_lists {
 public:
  constexpr int size() const { return static_cast<int>(begin_.size()) - 1; }
  // Adds to the list that is being written, which is number size() and not yet one of them.
  constexpr void add(T const& element) { all_.push_back(element); }
  constexpr list_view<T> being_written() const {
    return {all_.data() + begin_.back(), all_.data() + all_.size()};
  }
  constexpr void end_list() { begin_.push_back(static_cast<int>(all_.size())); }

  // Valid until more is written.
  constexpr lists_view<T> view() const { return {view_of(begin_), view_of(all_)}; }

  friend constexpr bool operator==(written_lists const&, written_lists const&) = default;

 private:
  dynamic_array<int> begin_ = dynamic_array<int>(1, 0);
  dynamic_array<T> all_;
};

}  // namespace ashlar
