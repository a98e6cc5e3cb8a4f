// The options for the format of a result, and its place.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace tool {

// Adds --as: one of `formats`, by default the one that `format` holds.
inline CLI::Option* add_format_option(CLI::App& command, std::string& format,
                                      std::vector<std::string> const& formats, char const* help) {
  return command.add_option("--as", format, help)
      ->check(CLI::IsMember(formats))
      ->type_name("FORMAT")
      ->capture_default_str();
}

// Adds -o, a path as write_text() takes it.
inline void add_output_option(CLI::App& command, std::string& path) {
  command.add_option("-o,--output", path, "where to write; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
}

}  // namespace tool
