#include "options/durations.hpp"

#include "command.hpp"
#include "options/number_option.hpp"
#include "report/counted.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>

namespace tool {

namespace {

constexpr std::string_view time_units[] = {"ns", "us", "ms", "s"};
constexpr int most_decimals = 9;

// Powers of ten of a nanosecond; 0 for plain numbers.
int power_of(std::string const& unit) {
  auto const at = std::find(std::begin(time_units), std::end(time_units), unit);
  return at == std::end(time_units) ? 0 : 3 * static_cast<int>(at - std::begin(time_units));
}

struct fraction {
  long long numerator = 0, denominator = 1;
};

[[noreturn]] void cannot_count(duration const& d) {
  throw usage_error(
      fmt::format("{} is out of the range of times that can be counted together", d.given_by));
}

long long product(duration const& d, long long a, long long b) {
  long long result = 0;
  if (__builtin_mul_overflow(a, b, &result) || result > ashlar::max_tick) cannot_count(d);
  return result;
}

// In lowest terms.
fraction in_unit(duration const& d, std::string const& unit) {
  int exponent = power_of(d.unit) - power_of(unit) - d.decimals;
  fraction f{d.digits, 1};
  for (; exponent > 0 && f.numerator > 0; --exponent) f.numerator = product(d, f.numerator, 10);
  for (; exponent < 0 && f.numerator > 0; ++exponent) f.denominator = product(d, f.denominator, 10);
  long long const common = std::gcd(f.numerator, f.denominator);
  return {f.numerator / common, f.denominator / common};
}

}  // namespace

std::string time_scale::number(ashlar::tick t) const {
  return ticks_per_unit == 1 ? std::to_string(t)
                             : fmt::format("{:.15g}", in_units(static_cast<double>(t)));
}

std::string time_scale::words(ashlar::tick t) const {
  if (is_plain()) return counted(t, "tick");
  return number(t) + " " + (unit.empty() ? "ticks" : unit);
}

double time_scale::tick_ns() const {
  return (unit.empty() ? 1e3 : std::pow(10, power_of(unit))) / static_cast<double>(ticks_per_unit);
}

duration read_duration(std::string const& given_by, std::string_view text, long long least,
                       long long most) {
  auto const digits_end = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits_end == text.size() || text[0] == '-')
    return {given_by, number_within<long long>(given_by, text, least, most), 0, {}};
  duration d{given_by, 0, 0, {}};
  std::string digits(text.substr(0, digits_end));
  std::string_view rest = text.substr(digits_end);
  if (!rest.empty() && rest[0] == '.') {
    rest.remove_prefix(1);
    auto const end = std::min(rest.find_first_not_of("0123456789"), rest.size());
    d.decimals = static_cast<int>(std::min<std::size_t>(end, most_decimals + 1));
    digits += rest.substr(0, end);
    rest.remove_prefix(end);
    if (end == 0) digits.clear();
  }
  bool const known =
      rest.empty()
      || std::find(std::begin(time_units), std::end(time_units), rest) != std::end(time_units);
  if (digits_end == 0 || d.decimals > most_decimals || !known || !read_number(digits, d.digits)
      || (d.digits == 0 && least > 0))
    throw usage_error(fmt::format("{} must be a {}time like 3, 1.5, 12.5ms, 800us or 2s, not '{}'",
                                  given_by, least > 0 ? "positive " : "", text.substr(0, 64)));
  d.unit = rest;
  return d;
}

time_scale scale_of(std::vector<duration> const& all) {
  time_scale scale;
  for (duration const& d : all)
    if (scale.unit.empty()) scale.unit = d.unit;
  for (duration const& d : all) {
    if (d.unit.empty() && !scale.unit.empty() && d.digits != 0)
      throw usage_error(fmt::format("{} has no unit, but other times have", d.given_by));
    long long const denominator = in_unit(d, scale.unit).denominator;
    scale.ticks_per_unit =
        product(d, scale.ticks_per_unit / std::gcd(scale.ticks_per_unit, denominator), denominator);
  }
  return scale;
}

ashlar::tick ticks_of(duration const& d, time_scale const& scale) {
  if (d.digits != 0 && d.unit.empty() != scale.unit.empty())
    throw usage_error(
        scale.unit.empty()
            ? fmt::format("{} has a unit, but other times have none", d.given_by)
            : fmt::format("{} has no unit, but other times are in {}", d.given_by, scale.unit));
  fraction const f = in_unit(d, scale.unit);
  if (scale.ticks_per_unit % f.denominator != 0)
    throw usage_error(fmt::format("{} is no whole number of ticks, of which {} are 1 {}", d.given_by,
                                  scale.ticks_per_unit, scale.unit));
  return product(d, f.numerator, scale.ticks_per_unit / f.denominator);
}

CLI::Option* add_duration(CLI::App& command, char const* flag, std::map<std::string, duration>& values,
                          long long least, char const* help, long long most) {
  return command
      .add_option_function<std::string>(
          flag,
          [&values, flag, least, most](std::string const& text) {
            values[flag] = read_duration(flag, text, least, most);
          },
          help)
      ->type_name("TIME");
}

}  // namespace tool
