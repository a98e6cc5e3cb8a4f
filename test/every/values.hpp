// Arguments of any public function: values that are right but for some fields, which may be anything.
#pragma once

#include "doors/knock.hpp"
#include "doors/predictions.hpp"
#include "extreme_program.hpp"
#include "extreme_values.hpp"
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/function_ref.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/list_view.hpp>
#include <ashlar/core/lists.hpp>
#include <ashlar/interop/input_error.hpp>
#include <ashlar/interop/json_text.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/program/program.hpp>

#include <concepts>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace every {

using namespace ashlar;
using random_case::dice;

// Fields of a struct and the number of enumerators: written by generate.py from the headers.
template <class T>
struct fields_of {
  static constexpr bool known = false;
};
template <class T>
inline constexpr int enumerators_of = 4;

template <class T>
void change(dice& d, T& value);

template <class T>
T start(dice&) {
  return T{};
}

template <class T>
inline constexpr bool can_start = std::is_default_constructible_v<T>&& std::is_move_constructible_v<T>;

// Values that no first values of fields give.
template <>
inline schedule start<schedule>(dice& d) {
  return doors::some_entry(d).make({devices{2}, micro_batches{4}});
}
template <>
inline block start<block>(dice& d) {
  catalog::entry const& e = doors::some_entry(d);
  return e.block_of != nullptr ? e.block_of({devices{2}, micro_batches{4}})
                               : catalog::one_f_one_b(devices{2});
}
template <>
inline program start<program>(dice& d) {
  return lower(start<schedule>(d));
}
template <>
inline placement start<placement>(dice& d) {
  return d.percent(50) ? linear(devices{2}) : v_shape(devices{2});
}
template <>
inline stage_graph start<stage_graph>(dice& d) {
  return random_case::random_graph(d, d.between(1, 5));
}
template <>
inline workload start<workload>(dice& d) {
  return workload_of(start<schedule>(d));
}
template <>
inline cost::question start<cost::question>(dice& d) {
  return cost::testing::random_question(d);
}
template <>
inline cost::architecture start<cost::architecture>(dice& d) {
  return start<cost::question>(d).model;
}
template <>
inline cost::cluster start<cost::cluster>(dice& d) {
  return start<cost::question>(d).cluster;
}
template <>
inline cost::machine start<cost::machine>(dice& d) {
  return start<cost::cluster>(d).kinds.front().device;
}
template <>
inline cost::layout start<cost::layout>(dice& d) {
  return start<cost::question>(d).layout;
}
template <>
inline cost::constants start<cost::constants>(dice&) {
  return cost::testing::round_constants();
}
template <>
inline json_text start<json_text>(dice& d) {
  char const* const texts[] = {"{}", "[]", "[1, 2, {\"a\": 1e300}]",
                               "{\"name\": \"x\", \"nodes\": -1, \"edges\": [[0, 1]]}", "7"};
  return parse_json(texts[d.between(0, 4)]);
}
template <>
inline catalog::shape start<catalog::shape>(dice&) {
  return {.p = devices{2}, .m = micro_batches{4}};
}
template <>
inline catalog::entry start<catalog::entry>(dice& d) {
  return doors::some_entry(d);
}

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_strong_int = false;
template <class Tag>
inline constexpr bool is_strong_int<strong_int<Tag>> = true;

// Types of which all values are made by one function.
template <class T>
inline constexpr bool is_made = false;

template <class T>
concept has_own_change = requires(dice& d, T& value) {
  extreme_fields::change(d, value);
};

// Changes a value a little, or a field of it to anything.
template <class T>
void change(dice& d, T& value) {
  if constexpr (is_made<T>) {
    value = start<T>(d);
  } else if constexpr (std::same_as<T, bool>) {
    value = d.percent(50);
  } else if constexpr (std::integral<T>) {
    using number = std::make_signed_t<T>;
    value = d.percent(50) ? static_cast<T>(d.between(0, 9))
                          : static_cast<T>(extreme_fields::extreme(d, static_cast<number>(value)));
  } else if constexpr (std::floating_point<T>) {
    value = static_cast<T>(d.percent(50) ? d.between(0, 9)
                                         : doors::extreme_real(d, static_cast<double>(value)));
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(d.between(0, enumerators_of<T> - 1));
  } else if constexpr (is_strong_int<T>) {
    change(d, value.value);
  } else if constexpr (std::same_as<T, std::string>) {
    for (int more = d.between(0, 3); more > 0; --more) value += "aF0,;{[\"1\n-x"[d.between(0, 11)];
  } else if constexpr (is_optional<T>) {
    if (d.percent(30)) return value.reset();
    if (!value) value.emplace(start<typename T::value_type>(d));
    change(d, *value);
  } else if constexpr (is_vector<T>) {
    using element = typename T::value_type;
    if (d.percent(40)) {
      if constexpr (can_start<element>) value.push_back(start<element>(d));
    } else if (!value.empty() && d.percent(20)) {
      value.pop_back();
    }
    if (value.empty()) return;
    std::size_t const at = static_cast<std::size_t>(d.between(0, static_cast<int>(value.size()) - 1));
    if constexpr (std::same_as<element, bool>)
      value[at] = !value[at];
    else
      change(d, value[at]);
  } else if constexpr (std::same_as<T, cost::question>) {
    doors::change_question(d, value);
  } else if constexpr (std::same_as<T, stage_graph>) {
    extreme_fields::change_graph(d, value);
  } else if constexpr (std::same_as<T, program>) {
    if (value.instructions.empty()) value = start<program>(d);
    extreme_fields::change(d, value);
  } else if constexpr (std::same_as<T, placement>) {
    value = extreme_fields::other_placement(d, value);
  } else if constexpr (has_own_change<T>) {
    extreme_fields::change(d, value);
  } else if constexpr (std::same_as<T, costs> || std::same_as<T, execution_costs>) {
    extreme_fields::change_cost(d, value);
  } else if constexpr (std::same_as<T, memory_model>) {
    extreme_fields::change_memory(d, value);
  } else if constexpr (fields_of<T>::known) {
    fields_of<T>::each(value, [&](auto& field) {
      if (d.percent(25)) change(d, field);
    });
  }
}

template <class T>
T make(dice& d) {
  T value = start<T>(d);
  if (is_made<T>) return value;
  for (int changes = d.between(0, 3); changes > 0; --changes) change(d, value);
  return value;
}

// An argument, and what it refers to.
template <class T>
struct argument {
  static constexpr bool known = can_start<T> && !std::is_pointer_v<T>;
  T value;
  explicit argument(dice& d) : value(make<T>(d)) {}
};

template <class T>
struct argument<list_view<T>> {
  static constexpr bool known = can_start<T>;
  std::vector<T> all;
  list_view<T> value;
  explicit argument(dice& d) : all(make<std::vector<T>>(d)), value(all) {}
};

template <>
struct argument<std::string_view> {
  static constexpr bool known = true;
  std::string text;
  std::string_view value;
  explicit argument(dice& d) : text(make<std::string>(d)), value(text) {}
};

template <>
struct argument<char const*> {
  static constexpr bool known = true;
  std::string text;
  char const* value;
  explicit argument(dice& d) : text(make<std::string>(d)), value(text.c_str()) {}
};

template <>
struct argument<program_view> {
  static constexpr bool known = true;
  program of;
  program_view value;
  explicit argument(dice& d) : of(make<program>(d)), value(of.view()) {}
};

template <class Result, class... Args>
struct argument<function_ref<Result(Args...)>> {
  static constexpr bool known = std::is_void_v<Result> || std::is_default_constructible_v<Result>;
  struct answer {
    Result operator()(Args...) const { return Result(); }
  };
  answer own;
  function_ref<Result(Args...)> value;
  explicit argument(dice&) : value(own) {}
};

template <class Arg>
decltype(auto) handed(argument<std::remove_cvref_t<Arg>>& from) {
  if constexpr (std::is_lvalue_reference_v<Arg>)
    return (from.value);
  else
    return std::move(from.value);
}

template <class... Args>
inline constexpr bool can_call = (argument<std::remove_cvref_t<Args>>::known && ...);

// Calls f with arguments of these types if they can be made, and f takes them. A call answers, or says
// in words which rule a value breaks. Returns whether f was called.
template <class... Args, class Call, class Takes>
bool call([[maybe_unused]] dice& d, [[maybe_unused]] Call f, [[maybe_unused]] Takes takes) {
  bool is_called = false;
  if constexpr (can_call<Args...>)
    doors::ask([&] {
      // Each in its place: what refers to a part of it stays where that is.
      std::tuple<argument<std::remove_cvref_t<Args>>...> held(
          (static_cast<void>(sizeof(Args const&)), d)...);
      try {
        std::apply(
            [&](auto&... each) {
              is_called = takes(each.value...);
              if (is_called) f(handed<Args>(each)...);
            },
            held);
      } catch (input_error const&) {
      } catch (std::invalid_argument const& e) {  // of the run, which says what is wrong
        doors::demand(std::string_view(e.what()).find(' ') != std::string_view::npos);
      }
    });
  return is_called;
}

// A public function: where it is declared, a call of it, and whether that calls it.
struct entry {
  char const* place;
  bool (*call)(dice&);    // returns whether it takes the values
  bool const* is_called;  // null: never
};
extern entry const all[];
extern int const count;

}  // namespace every
