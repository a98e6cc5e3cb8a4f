// Definitions of durations.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/durations.hpp>
#include <ashlar/interop/numbers.hpp>
#include <ashlar/render/diagnosis.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <utility>

namespace ashlar::duration_detail {

inline constexpr std::string_view time_units[] = {"ns", "us", "ms", "s"};

inline bool is_unit(std::string_view text) {
  return std::find(std::begin(time_units), std::end(time_units), text) != std::end(time_units);
}

// The unit's power of ten of a nanosecond; 0 for plain numbers.
ASHLAR_INLINE int power_of(std::string const& unit) {
  auto const at = std::find(std::begin(time_units), std::end(time_units), unit);
  return at == std::end(time_units) ? 0 : 3 * static_cast<int>(at - std::begin(time_units));
}

struct fraction {
  long long numerator = 0, denominator = 1;
};

ASHLAR_INLINE long long product(duration const& d, long long a, long long b) {
  long long result = 0;
  if (__builtin_mul_overflow(a, b, &result) || result > max_tick)
    throw input_error(d.given_by + " is out of the range of times that can be counted together");
  return result;
}

// A number as programs print it: 1.4e-02 has the digits 0014, three of them after the point.
struct decimal {
  std::string digits = {};
  int decimals = 0;
};

// Returns the text after the number; all of it if it does not begin with one.
ASHLAR_INLINE std::string_view read_decimal(std::string_view text, decimal& number) {
  std::string_view rest = text;
  auto const take_digits = [&] {
    auto const end = std::min(rest.find_first_not_of("0123456789"), rest.size());
    std::string_view const taken = rest.substr(0, end);
    rest.remove_prefix(end);
    return taken;
  };
  number.digits = take_digits();
  if (number.digits.empty()) return text;
  if (!rest.empty() && rest[0] == '.') {
    rest.remove_prefix(1);
    std::string_view const after = take_digits();
    if (after.empty()) return text;
    number.digits += after;
    number.decimals = static_cast<int>(after.size());
  }
  if (rest.empty() || (rest[0] != 'e' && rest[0] != 'E')) return rest;
  rest.remove_prefix(1);
  bool const is_small = !rest.empty() && rest[0] == '-';
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
  int exponent = 0;
  std::string_view const power = take_digits();
  if (power.size() > 4 || !read_number(power, exponent)) return text;
  number.decimals += is_small ? exponent : -exponent;
  if (number.decimals < 0) {  // more digits than a number holds are refused later
    number.digits.append(static_cast<std::size_t>(std::min(-number.decimals, 40)), '0');
    number.decimals = 0;
  }
  return rest;
}

// Rounds to most_decimals decimals; false if the number did not change.
ASHLAR_INLINE bool round(decimal& number) {
  auto const extra = static_cast<std::size_t>(number.decimals - most_decimals);
  std::string& digits = number.digits;
  if (digits.size() < extra + 1) digits.insert(0, extra + 1 - digits.size(), '0');
  bool const is_exact = digits.find_first_not_of('0', digits.size() - extra) == std::string::npos;
  bool carry = digits[digits.size() - extra] >= '5';
  digits.resize(digits.size() - extra);
  for (auto at = digits.size(); carry && at-- > 0;) {
    carry = digits[at] == '9';
    digits[at] = carry ? '0' : static_cast<char>(digits[at] + 1);
  }
  if (carry) digits.insert(0, 1, '1');
  number.decimals = most_decimals;
  return !is_exact;
}

// Returns the fraction in lowest terms.
ASHLAR_INLINE fraction in_unit(duration const& d, std::string const& unit) {
  int exponent = power_of(d.unit) - power_of(unit) - d.decimals;
  fraction f{d.digits, 1};
  for (; exponent > 0 && f.numerator > 0; --exponent) f.numerator = product(d, f.numerator, 10);
  for (; exponent < 0 && f.numerator > 0; ++exponent) f.denominator = product(d, f.denominator, 10);
  long long const common = std::gcd(f.numerator, f.denominator);
  return {f.numerator / common, f.denominator / common};
}

}  // namespace ashlar::duration_detail

namespace ashlar {

ASHLAR_INLINE std::string time_scale::number(tick t) const {
  if (ticks_per_unit == 1) return std::to_string(t);
  constexpr int digits = 15;
  char text[32] = {};
  char* const end = std::to_chars(text, text + sizeof text, in_units(static_cast<double>(t)),
                                  std::chars_format::general, digits)
                        .ptr;
  return {text, end};
}

ASHLAR_INLINE std::string time_scale::words(tick t) const {
  if (is_plain()) return render_detail::count_of(t, "tick");
  return number(t) + " " + (unit.empty() ? "ticks" : unit);
}

ASHLAR_INLINE double time_scale::tick_ns() const {
  return (unit.empty() ? 1e3 : std::pow(10, duration_detail::power_of(unit)))
         / static_cast<double>(ticks_per_unit);
}

ASHLAR_INLINE std::string rounding_words(std::string_view time) {
  return "times have " + std::to_string(most_decimals) + " decimals; '" + std::string(time.substr(0, 64))
         + "' and others with more are rounded";
}

ASHLAR_INLINE duration read_duration(std::string const& given_by, std::string_view text, long long least,
                                     long long most) {
  if (text.empty() || text[0] == '-' || text.find_first_not_of("0123456789") == std::string_view::npos)
    return {.given_by = given_by, .digits = number_within<long long>(given_by, text, least, most)};
  duration_detail::decimal number;
  std::string_view const unit = duration_detail::read_decimal(text, number);
  bool const is_time = unit.size() < text.size() && (unit.empty() || duration_detail::is_unit(unit));
  duration d{.given_by = given_by, .unit = std::string(unit)};
  if (is_time && number.decimals > most_decimals) d.is_rounded = duration_detail::round(number);
  d.decimals = number.decimals;
  if (!is_time || number.digits.size() > 30 || !read_number(number.digits, d.digits)
      || (d.digits == 0 && least > 0))
    throw input_error(given_by + " must be a " + (least > 0 ? "positive " : "")
                      + "time like 3, 1.5, 12.5ms, 800us or 2s, not '" + std::string(text.substr(0, 64))
                      + "'");
  return d;
}

ASHLAR_INLINE time_scale scale_of(std::vector<duration> const& all) {
  time_scale scale;
  for (duration const& d : all)
    if (scale.unit.empty()) scale.unit = d.unit;
  for (duration const& d : all) {
    if (d.unit.empty() && !scale.unit.empty() && d.digits != 0)
      throw input_error(d.given_by + " has no unit, but other times have");
    long long const denominator = duration_detail::in_unit(d, scale.unit).denominator;
    scale.ticks_per_unit = duration_detail::product(
        d, scale.ticks_per_unit / std::gcd(scale.ticks_per_unit, denominator), denominator);
  }
  return scale;
}

ASHLAR_INLINE tick ticks_of(duration const& d, time_scale const& scale) {
  if (d.digits != 0 && d.unit.empty() != scale.unit.empty())
    throw input_error(d.given_by
                      + (scale.unit.empty() ? " has a unit, but other times have none"
                                            : " has no unit, but other times are in " + scale.unit));
  duration_detail::fraction const f = duration_detail::in_unit(d, scale.unit);
  if (scale.ticks_per_unit % f.denominator != 0)
    throw input_error(d.given_by + " is no whole number of ticks, of which "
                      + std::to_string(scale.ticks_per_unit) + " are 1 " + scale.unit);
  return duration_detail::product(d, f.numerator, scale.ticks_per_unit / f.denominator);
}

}  // namespace ashlar
