// How an operation ends if it has no valid result.
#pragma once

#include <ashlar/core/diagnosis.hpp>

#include <type_traits>
#include <utility>
#ifndef __cpp_exceptions
#include <cstdio>
#endif

namespace ashlar {

namespace refuse_detail {

// In a constant expression, compilers name the function that is not constexpr, and the calls that led
// there. So refuse() calls functions that are named after what is wrong.
template <rule Broken>
void breaks_rule() {}
template <table Of>
void has_wrong_size() {}

using name = void (*)();
template <class Numbers>
struct names;
template <int... Numbers>
struct names<std::integer_sequence<int, Numbers...>> {
  static constexpr name of_rules[sizeof...(Numbers)] = {breaks_rule<static_cast<rule>(Numbers)>...};
  static constexpr name of_tables[sizeof...(Numbers)] = {has_wrong_size<static_cast<table>(Numbers)>...};
};
constexpr void name_rule(diagnosis const& d) {
  if (d.of != table::none)
    names<std::make_integer_sequence<int, table_count>>::of_tables[static_cast<int>(d.of)]();
  names<std::make_integer_sequence<int, rule_count>>::of_rules[static_cast<int>(d.broken)]();
}

#ifdef __clang__
// clang shows the arguments of calls,
constexpr void at_device_stage_micro_batch(int, int, int, diagnosis const& d) { name_rule(d); }
constexpr void name_place(diagnosis const& d) {
  at_device_stage_micro_batch(d.first.device, d.first.what.stage, d.first.what.micro_batch, d);
}
#else
// others their template arguments: the number, or 63 for larger ones.
template <class Word>
constexpr void name_number(diagnosis const& d) {
#define ASHLAR_CASE(n) \
  case n:              \
    return Word::template is<n>(d);
#define ASHLAR_CASES(n) ASHLAR_CASE(n) ASHLAR_CASE(n + 1) ASHLAR_CASE(n + 2) ASHLAR_CASE(n + 3)
#define ASHLAR_MORE_CASES(n) ASHLAR_CASES(n) ASHLAR_CASES(n + 4) ASHLAR_CASES(n + 8) ASHLAR_CASES(n + 12)
  switch (int const n = Word::number(d); n < 63 ? n : 63) {
    ASHLAR_MORE_CASES(0)
    ASHLAR_MORE_CASES(16)
    ASHLAR_MORE_CASES(32)
    ASHLAR_MORE_CASES(48)
  }
#undef ASHLAR_MORE_CASES
#undef ASHLAR_CASES
#undef ASHLAR_CASE
}
struct in_micro_batch {
  static constexpr int number(diagnosis const& d) { return d.first.what.micro_batch; }
  template <int>
  static constexpr void is(diagnosis const& d) {
    name_rule(d);
  }
};
struct of_stage {
  static constexpr int number(diagnosis const& d) { return d.first.what.stage; }
  template <int>
  static constexpr void is(diagnosis const& d) {
    name_number<in_micro_batch>(d);
  }
};
struct on_device {
  static constexpr int number(diagnosis const& d) { return d.first.device; }
  template <int>
  static constexpr void is(diagnosis const& d) {
    name_number<of_stage>(d);
  }
};
constexpr void name_place(diagnosis const& d) { name_number<on_device>(d); }
#endif

}  // namespace refuse_detail

// Throws violation{d}, of a rule that is broken; without exceptions it prints the rule and terminates.
// Where that would be in a constant expression, the compiler's message has breaks_rule<rule::...> or
// has_wrong_size<table::...>, the device, stage and micro-batch of the first witness if it is at a place
// in an order, and the calls that led there. A template, because clang 14 takes no constexpr function
// that never returns.
template <class = void>
[[noreturn]] constexpr void refuse(diagnosis const& d) {
  if (std::is_constant_evaluated())
    d.first.index < 0 ? refuse_detail::name_rule(d) : refuse_detail::name_place(d);
#ifdef __cpp_exceptions
  if (!d.ok()) throw violation{d};  // g++ 12 wants a way past it
#else
  if (!d.ok()) std::fprintf(stderr, "ashlar: %s\n", violation{d}.what()), std::terminate();
#endif
  __builtin_unreachable();
}

// Throws violation{d}, if it is one.
constexpr void must_be(diagnosis const& d) {
  if (!d.ok()) refuse(d);
}

}  // namespace ashlar
