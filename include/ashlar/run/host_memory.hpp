// Memory and sums for devices that compute on the caller's host.
#pragma once

#include <ashlar/program/slot_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>

namespace ashlar {

// One aligned allocation, of zeros.
class aligned_memory {
 public:
  // Zeroed memory of `size` bytes; `alignment` is a power of two.
  explicit aligned_memory(std::size_t size, std::size_t alignment = 64)
      : size_(size),
        data_(static_cast<std::byte*>(
                  ::operator new (std::max<std::size_t>(size, 1), std::align_val_t{alignment})),
              {alignment}) {
    std::memset(data_.get(), 0, size);
  }
  std::byte* data() const { return data_.get(); }
  std::span<std::byte> view() const { return {data_.get(), size_}; }

 private:
  struct release {
    std::size_t alignment;
    void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{alignment}); }
  };
  std::size_t size_;
  std::unique_ptr<std::byte, release> data_;
};

// into += from, element by element. Throws std::invalid_argument unless they are f32 or f64.
inline void add_elements(std::span<std::byte> into, std::span<std::byte const> from,
                         element_type element) {
  auto const sum = [&]<class T>(T) {
    auto* const a = reinterpret_cast<T*>(into.data());
    auto const* const b = reinterpret_cast<T const*>(from.data());
    for (std::size_t i = 0; i < into.size() / sizeof(T); ++i) a[i] += b[i];
  };
  if (element == element_type::f32)
    sum(float{});
  else if (element == element_type::f64)
    sum(double{});
  else
    throw std::invalid_argument("a host adds elements of f32 and f64 alone");
}

}  // namespace ashlar
