// Matrices in somebody else's memory, and how a buffer is carved into them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace gpt {

// Every matrix starts at a multiple of this many bytes: a vectorised loop then meets the same elements
// in the same lanes wherever the buffer lies, and gives the same bits.
inline constexpr std::size_t alignment = 64;

// A view of a row-major matrix; a vector is a matrix of one row. Like std::span, constness is that of
// the elements.
template <class Scalar>
struct matrix {
  Scalar* data = nullptr;
  int rows = 0;
  int cols = 0;
  int stride = 0;  // elements from a row to the next

  constexpr Scalar* row(int i) const { return data + static_cast<std::ptrdiff_t>(i) * stride; }
  constexpr Scalar& operator()(int i, int j) const { return row(i)[j]; }
  constexpr std::size_t size() const {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
  }

  constexpr matrix block(int top, int left, int height, int breadth) const {
    return {row(top) + left, height, breadth, stride};
  }

  // All elements; only for a matrix without gaps between the rows.
  constexpr std::span<Scalar> flat() const { return {data, size()}; }

  constexpr operator matrix<Scalar const>() const requires(!std::is_const_v<Scalar>) {
    return {data, rows, cols, stride};
  }
};

// Takes aligned matrices from a buffer, one after another. Without a buffer it only measures: the
// constructor that lays out a group of matrices also tells, run on a measuring carver, how much memory
// the group needs.
template <class Scalar>
class carver {
 public:
  carver() = default;
  explicit carver(Scalar* base) : base_(base) {}

  matrix<Scalar> take(int rows, int cols) {
    matrix<Scalar> const taken{base_ == nullptr ? nullptr : base_ + used_, rows, cols, cols};
    skip(padded(taken.size()));
    return taken;
  }

  void skip(std::size_t elements) { used_ += elements; }
  // Elements taken so far, padding included.
  std::size_t used() const { return used_; }

 private:
  static constexpr std::size_t padded(std::size_t elements) {
    constexpr std::size_t unit = alignment / sizeof(Scalar);
    return (elements + unit - 1) / unit * unit;
  }

  Scalar* base_ = nullptr;
  std::size_t used_ = 0;
};

// Parts of the same layout, one after another; part i is laid out when asked for, so that nothing is
// allocated. Part is constructible from (carver&, Shape const&).
template <class Part, class Scalar, class Shape>
class repeated {
 public:
  repeated(carver<Scalar>& from, Shape const& shape, int count)
      : start_(from), shape_(shape), count_(count) {
    carver<Scalar> measure;
    Part const part(measure, shape);
    stride_ = measure.used();
    from.skip(stride_ * static_cast<std::size_t>(count));
  }

  int size() const { return count_; }

  Part operator[](int i) const {
    carver<Scalar> at = start_;
    at.skip(stride_ * static_cast<std::size_t>(i));
    return Part(at, shape_);
  }

 private:
  carver<Scalar> start_;
  Shape shape_;
  int count_;
  std::size_t stride_ = 0;
};

// An owned, aligned, zeroed array.
template <class Scalar>
class array {
 public:
  array() = default;
  // An empty array needs no memory.
  explicit array(std::size_t size)
      : data_(size == 0 ? nullptr
                        : static_cast<Scalar*>(
                            ::operator new (size * sizeof(Scalar), std::align_val_t{alignment}))),
        size_(size) {
    std::fill_n(data_.get(), size, Scalar{});
  }

  Scalar* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::span<Scalar> span() { return {data_.get(), size_}; }
  std::span<Scalar const> span() const { return {data_.get(), size_}; }

 private:
  struct free_aligned {
    void operator()(Scalar* data) const { ::operator delete (data, std::align_val_t{alignment}); }
  };
  std::unique_ptr<Scalar, free_aligned> data_;
  std::size_t size_ = 0;
};

}  // namespace gpt
