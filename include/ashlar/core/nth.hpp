// Elements of a list by signed numbers, such as those of stages, devices and micro-batches.
#pragma once

#include <ashlar/core/language.hpp>

#include <cstddef>

namespace ashlar {

// The i-th element of a list, from 0 on; i is a whole number or an enumerator. As list[i], unchecked.
template <class List, class Number>
constexpr decltype(auto) nth(List&& list, Number i) {
  return static_cast<List&&>(list)[static_cast<std::size_t>(i)];
}

}  // namespace ashlar
