// A run from the command line: its options, and the files that say the rest.
#pragma once

#include "predict/framework_files.hpp"
#include "predict/report.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace tool {

// Paths of files that say a run, of which at most one is given, and of constants; empty: not given.
struct run_files {
  std::string megatron, torchtitan, deepspeed, run;
  std::string constants;
};

// Adds --megatron, --torchtitan, --deepspeed, --run and --constants. They write to `files`, which must
// live as long as the command.
void add_run_files(CLI::App& command, run_files& files);

// The constants of the file, or the tool's own. Throws usage_error.
fitted_constants constants_of(run_files const& files);

struct given_run {
  prediction run;        // without an answer
  option_words options;  // of the file and of the command line
};

// Takes the run from a file, if one is given; the command's options, those of add_question_options(),
// replace what it says. `cluster` is the value of --cluster. Throws usage_error.
given_run read_given_run(CLI::App const& command, run_files const& files, std::string const& cluster,
                         fitted_constants const& c);

}  // namespace tool
