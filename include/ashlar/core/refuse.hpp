// How an operation ends if it has no valid result.
#pragma once

#include <ashlar/core/diagnosis.hpp>

#include <utility>

namespace ashlar {

namespace refuse_detail {

// This is not constexpr: in a constant expression compilers name these functions, and so the error.
template <rule Broken>
void breaks_rule() {}
template <table Of>
void has_wrong_size() {}

template <int... Rules>
constexpr void name(rule broken, std::integer_sequence<int, Rules...>) {
  static_cast<void>(
      ((static_cast<int>(broken) == Rules && (breaks_rule<static_cast<rule>(Rules)>(), true)) || ...));
}
template <int... Tables>
constexpr void name(table of, std::integer_sequence<int, Tables...>) {
  static_cast<void>(
      ((static_cast<int>(of) == Tables && (has_wrong_size<static_cast<table>(Tables)>(), true)) || ...));
}

}  // namespace refuse_detail

// Throws violation{d}, of a rule that is broken. Where that would be in a constant expression, the
// compiler's message has breaks_rule<rule::...> or has_wrong_size<table::...>, and the calls that led
// there. A template, because clang 14 takes no constexpr function that never returns.
template <class = void>
[[noreturn]] constexpr void refuse(diagnosis const& d) {
  if (d.of != table::none) refuse_detail::name(d.of, std::make_integer_sequence<int, table_count>());
  refuse_detail::name(d.broken, std::make_integer_sequence<int, rule_count>());
  if (!d.ok()) throw violation{d};  // g++ 12 wants a way past it
  __builtin_unreachable();
}

// Throws violation{d}, if it is one.
constexpr void must_be(diagnosis const& d) {
  if (!d.ok()) refuse(d);
}

}  // namespace ashlar
