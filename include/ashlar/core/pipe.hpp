// value | operation(arguments): the operation with its other arguments bound, waiting for its value.
// operation | operation is an operation, too.
#pragma once

#include <ashlar/core/language.hpp>

#include <type_traits>
#include <utility>

namespace ashlar {

template <class Call>
struct closure {
  Call call;

  explicit constexpr closure(Call c) : call(std::move(c)) {}
};

// Applies first one, then the other.
template <class First, class Second>
struct composed {
  First first;
  Second second;

  template <class Value>
  constexpr auto operator()(Value&& value) const -> decltype(second(first(std::forward<Value>(value)))) {
    return second(first(std::forward<Value>(value)));
  }
};

template <class>
inline constexpr bool is_closure = false;
template <class Call>
inline constexpr bool is_closure<closure<Call>> = true;

// A value that is needed nowhere else is moved through. The condition stands among the parameters
// because clang 14 looks at a `requires` only after the result type.
template <class Value, class Call, std::enable_if_t<!is_closure<std::remove_cvref_t<Value>>, int> = 0>
constexpr auto operator|(Value&& value, closure<Call> const& operation)
    -> decltype(operation.call(std::forward<Value>(value))) {
  return operation.call(std::forward<Value>(value));
}

// (value | a) | b == value | (a | b).
template <class First, class Second>
constexpr auto operator|(closure<First> first, closure<Second> second) {
  return closure(composed<First, Second>{std::move(first.call), std::move(second.call)});
}

}  // namespace ashlar
