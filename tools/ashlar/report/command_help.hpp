// The end of each command's help: its examples, and the exit codes that it has.
#pragma once

#include <CLI/CLI.hpp>

#include <vector>

namespace tool {

struct exit_words {
  int code = 0;
  char const* words = "";
};

struct command_help {
  char const* command = "";
  std::vector<char const*> examples;
  std::vector<exit_words> exits;         // beside those that all have
  char const* growth = nullptr;          // of time with sizes; none: not stated
  char const* no_certificate = nullptr;  // why its claims have none; none: it has --certificate
};

// All commands, in the order of `ashlar --help`.
std::vector<command_help> const& help_of_commands();

// Puts them behind what each command's help ends with, and a summary behind that of the program.
void add_examples_and_exits(CLI::App& app);

}  // namespace tool
