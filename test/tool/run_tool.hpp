// Runs the tool as a user does: a process, its exit code, what it prints.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

struct tool_result {
  int code = -1;  // 124: it took too long; 128 and more: a signal
  std::string out;
  std::string err;
};

inline std::string content(std::filesystem::path const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A folder of this process's own, gone at its end.
inline std::filesystem::path const& scratch() {
  struct folder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("ashlar_tool_" + std::to_string(getpid()));

    folder() { std::filesystem::create_directories(path); }
    ~folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static folder const own;
  return own.path;
}

inline std::string scratch_file(std::string const& name, std::string const& text) {
  std::ofstream(scratch() / name, std::ios::binary) << text;
  return (scratch() / name).string();
}

inline bool contains(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

// Runs the tool; `arguments` as in a shell. It is stopped if it takes more than `seconds` of processor
// time, however busy the machine is, or more than 4 GB, or if it hangs.
inline tool_result run_tool(std::string const& arguments, int seconds = 20) {
  std::string const out = (scratch() / "out").string(), err = (scratch() / "err").string();
#if defined(ASHLAR_SANITIZED)
  std::string const limit;  // its shadow memory is larger than any limit
  seconds *= 10;
#else
  std::string const limit = "ulimit -v 4000000; ";
#endif
  std::string const line = limit + "ulimit -t " + std::to_string(seconds) + "; timeout 300 '"
                           + ASHLAR_TOOL + "' " + arguments + " >'" + out + "' 2>'" + err + "'";
  int const status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, content(out), content(err)};
}
