// Options that take a whole number, and the range that it must lie in.
#pragma once

#include "command.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace tool {

inline CLI::Option* add_number(CLI::App& command, char const* flags, long long& value,
                               char const* help) {
  return command.add_option(flags, value, help)->type_name("N")->capture_default_str();
}

// Throws usage_error with the option `what` and its range.
inline void must_lie(char const* what, long long value, long long least, long long most) {
  if (value < least || value > most)
    throw usage_error(fmt::format("{} must be from {} to {}, not {}", what, least, most, value));
}

}  // namespace tool
