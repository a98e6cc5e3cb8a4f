// The options that say which page a picture is for.
#pragma once

#include "options/effects.hpp"
#include <ashlar/render/palette.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace tool {

// Adds --dark and --light.
inline void add_theme_options(CLI::App& command, ashlar::picture_theme& theme) {
  using ashlar::picture_theme;
  auto* const dark = command.add_flag_callback(
      "--dark", [&theme] { theme = picture_theme::dark; },
      "svg, html: on a dark page (default: as the reader has it)");
  command
      .add_flag_callback(
          "--light", [&theme] { theme = picture_theme::light; }, "svg, html: on a light page")
      ->excludes(dark);
}

// They have an effect where the command draws in this format.
inline std::vector<effect> effects_of_theme(std::string const& format) {
  std::vector<effect> all;
  for (char const* flag : {"--dark", "--light"})
    all.push_back(
        {flag, format == "svg" || format == "html", "with --as " + format + ": it is for svg and html"});
  return all;
}

}  // namespace tool
