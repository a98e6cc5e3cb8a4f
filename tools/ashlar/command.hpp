// Shared parts of the tool's subcommands: how they are registered, how they end.
#pragma once

#include <ashlar/interop/input_error.hpp>

#include <CLI/CLI.hpp>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tool {

// `uncertified`: all went well, but a claim has no certificate.
enum exit_code : int {
  done = 0,
  invalid = 1,
  unusable = 2,
  failed = 3,
  uncertified = 4,
  interrupted_early = 130
};

// The command line asks for what cannot be done, or names a file that cannot be used: `unusable`, with
// this message. It is what the library's readers throw, too.
using usage_error = ashlar::input_error;

// A run broke off, though nothing is wrong with what was asked for: `failed`.
struct run_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// All processes of a run throw the same error; one of them reports it.
struct agreed_error : std::runtime_error {
  explicit agreed_error(std::string const& what, exit_code ends_with = unusable)
      : std::runtime_error(what), code(ends_with) {}
  exit_code code;
};

// Another process has reported the error.
struct reported_elsewhere {
  exit_code code = unusable;
};

// The words that the tool was started with.
inline std::vector<std::string> command_line;

// The action of the chosen subcommand, once the whole line is parsed; returns an exit_code.
using action = std::function<int()>;

// Each function adds its subcommand to the program; each is in a file of its own.
void add_list(CLI::App& app, action& chosen);
void add_show(CLI::App& app, action& chosen);
void add_emit(CLI::App& app, action& chosen);
void add_compare(CLI::App& app, action& chosen);
void add_search(CLI::App& app, action& chosen);
void add_frontier(CLI::App& app, action& chosen);
void add_tradeoff(CLI::App& app, action& chosen);
void add_check(CLI::App& app, action& chosen);
void add_plan(CLI::App& app, action& chosen);
void add_partition(CLI::App& app, action& chosen);
void add_deal(CLI::App& app, action& chosen);
void add_predict(CLI::App& app, action& chosen);
void add_layout(CLI::App& app, action& chosen);
void add_simulate(CLI::App& app, action& chosen);
void add_train(CLI::App& app, action& chosen);
void add_profile(CLI::App& app, action& chosen);
void add_trace_diff(CLI::App& app, action& chosen);
void add_report(CLI::App& app, action& chosen);

// Runs `check` on a file with this text, under that name; `command` has none of its options. Returns an
// exit_code; throws usage_error for a text that cannot be used.
int check_text(CLI::App const& command, std::string const& name, std::string const& text);

}  // namespace tool
