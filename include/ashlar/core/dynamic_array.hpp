// A growable list for the library's own tables. The values that users write and keep (blocks, schedules,
// costs, programs) have std::vectors. But a compiler takes ten times as long to instantiate a vector for
// each element type, in every file that includes it, and a vector takes many more steps of constant
// evaluation.
#pragma once

#include <ashlar/core/language.hpp>

#include <cstddef>
#include <type_traits>

namespace ashlar {

// The part of std::vector that is needed, for elements with a default. Iterators are plain pointers. In
// a constant expression the elements have no destructor of their own: nvcc cannot evaluate delete[] of
// those.
template <class T>
class dynamic_array {
 public:
  using value_type = T;

  constexpr dynamic_array() = default;
  // Value-initialised elements.
  explicit constexpr dynamic_array(std::size_t n) : data_(allocated(n)), size_(n), room_(n) {
    if constexpr (!std::is_class_v<T>) fill({});
  }
  constexpr dynamic_array(std::size_t n, T const& value) : data_(allocated(n)), size_(n), room_(n) {
    fill(value);
  }
  constexpr dynamic_array(T const* first, T const* last)
      : dynamic_array(static_cast<std::size_t>(last - first)) {
    for (std::size_t i = 0; i < size_; ++i) data_[i] = first[i];
  }
  constexpr dynamic_array(dynamic_array const& other) : dynamic_array(other.begin(), other.end()) {}
  constexpr dynamic_array(dynamic_array&& other) noexcept { swap(other); }
  constexpr dynamic_array& operator=(dynamic_array other) noexcept {
    swap(other);
    return *this;
  }
  constexpr ~dynamic_array() { delete[] data_; }

  constexpr T* begin() { return data_; }
  constexpr T* end() { return data_ + size_; }
  constexpr T* data() { return data_; }
  constexpr T& operator[](std::size_t i) { return data_[i]; }
  constexpr T& back() { return data_[size_ - 1]; }
  constexpr T const* begin() const { return data_; }
  constexpr T const* end() const { return data_ + size_; }
  constexpr T const* data() const { return data_; }
  constexpr T const& operator[](std::size_t i) const { return data_[i]; }
  constexpr T const& back() const { return data_[size_ - 1]; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }

  constexpr void push_back(T value) {
    if (size_ == room_) [[unlikely]]
      reserve(2 * room_ + 8);
    data_[size_++] = static_cast<T&&>(value);
  }
  constexpr void pop_back() { --size_; }
  constexpr void clear() { size_ = 0; }
  // Leaves out all from this element on.
  constexpr void cut(T const* end) { size_ = static_cast<std::size_t>(end - data_); }
  constexpr void reserve(std::size_t room) {
    if (room <= room_) return;
    T* const more = new T[room];
    for (std::size_t i = 0; i < size_; ++i) more[i] = static_cast<T&&>(data_[i]);
    delete[] data_;
    data_ = more;
    room_ = room;
  }
  constexpr void swap(dynamic_array& other) noexcept {
    T* const data = data_;
    std::size_t const size = size_, room = room_;
    data_ = other.data_, size_ = other.size_, room_ = other.room_;
    other.data_ = data, other.size_ = size, other.room_ = room;
  }

  // As core/nth.hpp, with a call less.
  template <class Number>
  friend constexpr T& nth(dynamic_array& list, Number i) {
    return list.data_[static_cast<std::size_t>(i)];
  }
  template <class Number>
  friend constexpr T const& nth(dynamic_array const& list, Number i) {
    return list.data_[static_cast<std::size_t>(i)];
  }

  friend constexpr bool operator==(dynamic_array const& a, dynamic_array const& b) {
    for (std::size_t i = 0; i < a.size_ && i < b.size_; ++i)
      if (!(a[i] == b[i])) return false;
    return a.size_ == b.size_;
  }

 private:
  // nvcc's front end does not evaluate new T[0].
  static constexpr T* allocated(std::size_t n) { return n == 0 ? nullptr : new T[n]; }

  constexpr void fill(T const& value) {
    T* const to = data_;
    for (std::size_t i = 0, n = size_; i < n; ++i) to[i] = value;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0, room_ = 0;
};

}  // namespace ashlar
