// value | operation(arguments): the operation with its other arguments bound, waiting for its value.
#pragma once

#include <utility>

namespace ashlar {

template <class Call>
struct closure {
  Call call;

  explicit constexpr closure(Call c) : call(std::move(c)) {}
};

template <class Value, class Call>
constexpr auto operator|(Value const& value, closure<Call> const& operation)
    -> decltype(operation.call(value)) {
  return operation.call(value);
}

}  // namespace ashlar
