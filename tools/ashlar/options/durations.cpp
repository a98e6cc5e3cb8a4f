#include "options/durations.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <utility>

namespace tool {

duration read_duration(std::string const& given_by, std::string_view text, long long least,
                       long long most) {
  duration d = ashlar::read_duration(given_by, text, least, most);
  if (d.is_rounded) report_rounded(text);
  return d;
}

void report_rounded(std::string_view text) {
  static bool is_said = false;
  if (!std::exchange(is_said, true)) fmt::print(stderr, "note: {}\n", ashlar::rounding_words(text));
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
