// Files that are installed beside the tool, made from its options.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace tool {

// A manual page of section 1.
std::string manual_page(CLI::App const& app);

// Scripts that complete subcommands, options, their words, names of schedules and files.
std::string bash_completion(CLI::App const& app);
std::string zsh_completion(CLI::App const& app);
std::string fish_completion(CLI::App const& app);

}  // namespace tool
