// Options that take numbers, each with the range that it must lie in.
#pragma once

#include "command.hpp"
#include <ashlar/interop/numbers.hpp>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tool {

using ashlar::number_within;
using ashlar::range_words;
using ashlar::read_number;

// The name of an option in messages: -p/--devices.
inline std::string option_name(std::string flags) {
  std::replace(flags.begin(), flags.end(), ',', '/');
  return flags;
}

// Throws usage_error, when it is parsed, unless it is a number from `least` to `most`.
template <class Number>
CLI::Option* add_number(CLI::App& command, std::string const& flags, Number& value,
                        std::type_identity_t<Number> least, std::type_identity_t<Number> most,
                        std::string const& help) {
  auto* const option = command.add_option_function<std::string>(
      flags,
      [&value, name = option_name(flags), least, most](std::string const& text) {
        value = number_within<Number>(name, text, least, most);
      },
      help);
  return option->type_name("N")->default_str(fmt::format("{}", value));
}

// The entries of a list with commas between them, none of which may be missing: read(text) of each.
template <class Read>
auto read_list(std::string const& option, std::string_view text, Read read) {
  std::vector<decltype(read(text))> all;
  for (std::string_view rest = text;; rest.remove_prefix(rest.find(',') + 1)) {
    std::string_view const entry = rest.substr(0, rest.find(','));
    if (entry.empty())
      throw usage_error(fmt::format("{} has an empty entry: '{}'", option, text.substr(0, 64)));
    all.push_back(read(entry));
    if (rest.find(',') == std::string_view::npos) return all;
  }
}

// Reads a list of numbers likewise: 8,8,6,6.
template <class Number>
CLI::Option* add_numbers(CLI::App& command, std::string const& flags, std::vector<Number>& values,
                         std::type_identity_t<Number> least, std::type_identity_t<Number> most,
                         std::string const& help) {
  return command
      .add_option_function<std::string>(
          flags,
          [&values, name = option_name(flags), least, most](std::string const& text) {
            values = read_list(name, text, [&](std::string_view entry) {
              return number_within<Number>(name, entry, least, most);
            });
          },
          help)
      ->type_name("N");
}

// Checks a range that depends on other options. Throws usage_error with the option `what` and its range.
inline void must_be_between(char const* what, long long value, long long least, long long most) {
  if (value < least || value > most)
    throw usage_error(fmt::format("{} must be from {} to {}, not {}", what, least, most, value));
}

}  // namespace tool
