#include "options/durations.hpp"

#include "command.hpp"
#include "options/number_option.hpp"
#include "report/counted.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

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

// A number as programs print them: 1.4e-02 has the digits 0014, of which three are after the point.
struct decimal {
  std::string digits = {};
  int decimals = 0;
};

// What follows the number; all of the text if it begins with none.
std::string_view read_decimal(std::string_view text, decimal& number) {
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
  if (number.decimals < 0) {  // as many digits as fit into no number are refused later
    number.digits.append(static_cast<std::size_t>(std::min(-number.decimals, 40)), '0');
    number.decimals = 0;
  }
  return rest;
}

// To the nearest number with as many decimals as are counted; the first time in a run, that is said.
void round(decimal& number, std::string_view text) {
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
  static bool is_said = false;
  if (is_exact || std::exchange(is_said, true)) return;
  fmt::print(stderr, "note: times have {} decimals; '{}' and others with more are rounded\n",
             most_decimals, text.substr(0, 64));
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
  if (text.empty() || text[0] == '-' || text.find_first_not_of("0123456789") == std::string_view::npos)
    return {given_by, number_within<long long>(given_by, text, least, most), 0, {}};
  auto const no_time = [&] {
    return usage_error(fmt::format("{} must be a {}time like 3, 1.5, 12.5ms, 800us or 2s, not '{}'",
                                   given_by, least > 0 ? "positive " : "", text.substr(0, 64)));
  };
  decimal number;
  std::string_view const unit = read_decimal(text, number);
  bool const known =
      unit.empty()
      || std::find(std::begin(time_units), std::end(time_units), unit) != std::end(time_units);
  if (unit.size() == text.size() || !known) throw no_time();
  if (number.decimals > most_decimals) round(number, text);
  duration d{given_by, 0, number.decimals, std::string(unit)};
  if (number.digits.size() > 30 || !read_number(number.digits, d.digits) || (d.digits == 0 && least > 0))
    throw no_time();
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
