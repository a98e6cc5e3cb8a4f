// The compile-time form of check(): static_assert(valid<make>()), where `make` is a captureless lambda
// or function that returns a block, schedule or program. A broken rule appears in the compiler's
// message as the arguments of a class template, because every compiler prints those.
#pragma once

#include <ashlar/check/check.hpp>

namespace ashlar {

// The words of a message. Types, because compilers print the names of types and only the numbers of
// values.
template <rule Rule>
struct rule_;
template <int>
struct device_;
template <int>
struct position_;
template <int>
struct stage_;
template <int>
struct micro_batch_;
template <opcode, pass_kind>
struct doing_;
template <class Device, class Position, class Doing, class Stage, class MicroBatch>
struct at_;
struct nowhere_;
template <std::int64_t>
struct number_;
template <table, std::int64_t>
struct needs_;

// Instantiated, and so printed, when a value breaks a rule: read Rule, First, Second, Number, and of a
// table which one it is and how many entries it needs.
template <class Rule, class First, class Second, class Number, class... Needs>
struct breaks {
  static constexpr bool ok = false;
  static_assert(sizeof(Rule*) == 0,
                "invalid: read the rule and its witnesses in breaks<rule, at, at, number>");
};

namespace valid_detail {

// Goes through a variable: clang 14 takes no call that allocates as a template argument.
template <auto Make>
inline constexpr diagnosis found = [] { return check(Make()); }();

template <site S>
struct site_type {
  using type = at_<device_<S.device>, position_<S.index>, doing_<S.code, S.what.kind>,
                   stage_<S.what.stage>, micro_batch_<S.what.micro_batch>>;
};
template <site S>
requires(S == site{}) struct site_type<S> {
  using type = nowhere_;
};

}  // namespace valid_detail

// True if check(Make()) finds nothing. Else it does not compile, and the compiler's message names the
// rule, the devices, positions and passes.
template <auto Make>
consteval bool valid() {
  constexpr diagnosis d = valid_detail::found<Make>;
  if constexpr (d.ok())
    return true;
  else if constexpr (d.of == table::none)
    return breaks<rule_<d.broken>, typename valid_detail::site_type<d.first>::type,
                  typename valid_detail::site_type<d.second>::type, number_<d.number>>::ok;
  else
    return breaks<rule_<d.broken>, typename valid_detail::site_type<d.first>::type,
                  typename valid_detail::site_type<d.second>::type, number_<d.number>,
                  needs_<d.of, d.needed>>::ok;
}

}  // namespace ashlar
