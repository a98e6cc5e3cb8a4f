// `ashlar` under a real launcher, as a user starts it.
#pragma once

#include "tool/training.hpp"

#include <cstdlib>
#include <string>

namespace training_test {

// A line of the shell. Sanitizers are told that MPI keeps what it allocates.
inline std::string const train_mpi = "'" ASHLAR_TOOL "' train --backend mpi ";
inline std::string const keeping = "env ASAN_OPTIONS=detect_leaks=0 ";

// ASHLAR_MPI_LAUNCH is the launcher with its options, the number of processes follows.
inline std::string on_processes(int n, std::string const& arguments) {
  return keeping + ASHLAR_MPI_LAUNCH " " + std::to_string(n) + " " + train_mpi + arguments;
}

// Runs a line without the launcher's own words about exit codes, which come on standard error.
inline tool_result run_line(std::string const& words) {
  std::string const out = (scratch() / "out").string(), err = (scratch() / "err").string();
  std::string const line = "timeout 200 " + words + " >'" + out + "' 2>'" + err + "'";
  int const status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, content(out), content(err)};
}

inline tool_result run_on(int processes, std::string const& arguments) {
  return run_line(on_processes(processes, arguments));
}

inline int occurrences(std::string const& text, std::string const& part) {
  int n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace training_test
