// Shared parts of the tests of `ashlar train`.
#pragma once

#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace training_test {

inline std::string const tiny_of_any_size = " --blocks 4 --width 16 --heads 2 --context 16";
inline std::string const tiny = tiny_of_any_size + " --sequences 1";

inline std::string corpus() {
  auto const path = scratch() / "corpus.txt";
  std::ofstream file(path);
  for (int line = 0; line < 400; ++line) file << "a stone, a stone, and a joint between stones\n";
  return " --corpus " + path.string();
}

// A folder of this test's own, that is not there yet.
inline std::string fresh_folder(std::string const& name) {
  std::filesystem::remove_all(scratch() / name);
  return (scratch() / name).string();
}

inline std::string checkpoint_path(std::string const& folder, int step) {
  std::string const digits = std::to_string(step);
  return folder + "/step-" + std::string(8 - digits.size(), '0') + digits + ".checkpoint";
}

// All that a training has learned after a step, bit by bit: checksums of the tensors, and losses.
struct learned {
  std::map<std::string, unsigned> tensors;
  nlohmann::json losses;

  friend bool operator==(learned const&, learned const&) = default;
};

inline learned learned_after(std::string const& folder, int step) {
  learned all;
  std::string const text = content(checkpoint_path(folder, step) + "/manifest.json");
  REQUIRE(!text.empty());
  auto const manifest = nlohmann::json::parse(text)["checkpoint"];
  all.losses = manifest["losses"];
  for (auto const& part : manifest["parts"])
    for (auto const& [name, t] : part["tensors"].items()) all.tensors[name] = t["crc32"];
  return all;
}

// The most that passes keep and send, as a training reports it.
struct peaks {
  bool found = false;
  double on_devices = 0, on_hosts = 0, measured_on_devices = 0, measured_on_hosts = 0;  // bytes
};

inline peaks peaks_in(std::string const& out) {
  peaks p;
  auto const at = out.find("what passes keep and send takes at most ");
  if (at == std::string::npos) return p;
  std::istringstream words(out.substr(at, out.find('\n', at) - at));
  std::vector<double> sizes;
  for (std::string word; words >> word;) {
    char* unit = nullptr;
    double const size = std::strtod(word.c_str(), &unit);
    if (unit == word.c_str()) continue;
    sizes.push_back(size * (*unit == 'K' ? 1024.0 : *unit == 'M' ? 1048576.0 : 1.0));
  }
  p = {true, sizes.at(0), sizes.at(1), 0, 0};
  if (sizes.size() == 4) {
    p.measured_on_devices = sizes[2];
    p.measured_on_hosts = sizes[3];
  }
  return p;
}

// Changes a byte of a file.
inline void damage(std::string const& path, std::uintmax_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  char const byte = static_cast<char>(file.get());
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(byte ^ 1));
}

// Runs commands of the shell with a disk of their own at `folder`, of a mount namespace, that has room
// for one checkpoint of `tiny` and a half; their output goes to `told`. Returns whether they succeeded.
inline bool with_small_disk(std::string const& folder, std::string const& commands,
                            std::string const& told, int kilobytes = 400) {
  std::filesystem::create_directories(folder);
  return std::system(("unshare -m sh -c 'mount -t tmpfs -o size=" + std::to_string(kilobytes)
                      + "k tmpfs \"" + folder + "\" || exit 99; " + commands + "' >'" + told + "' 2>&1")
                         .c_str())
         == 0;
}

// A program that signals can be sent to; `line` is for the shell.
class running_program {
 public:
  explicit running_program(std::string const& line)
      : out_((scratch() / ("running" + std::to_string(count()++))).string()) {
    std::filesystem::remove(out_);
    std::string const all = "exec timeout -k 1 --foreground 200 " + line + " >'" + out_ + "' 2>&1";
    child_ = fork();
    if (child_ == 0) {
      execl("/bin/sh", "sh", "-c", all.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
  }

  // Waits until it has printed this.
  void wait_for(std::string const& words) const {
    for (int i = 0; i < 3000 && !contains(content(out_), words); ++i) pause();
    CHECK(contains(content(out_), words));
  }
  // `timeout` hands the signal on, but for SIGKILL.
  void send(int signal) const { kill(child_, signal); }
  tool_result end() const {
    int status = 0;
    waitpid(child_, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), content(out_), ""};
  }
  static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

 private:
  static int& count() {
    static int number = 0;
    return number;
  }

  std::string out_;
  pid_t child_ = -1;
};

// Words in the command line of a supervised training.
inline std::string const supervised(
    "--restart\0"
    "0",
    11);

// Ends all processes of the tool that were started with each of these words, as a machine that breaks
// down does; says how many there were. Other tests run at the same time: one of the words must be found
// in this test only, as its folder is.
inline int kill_those_with(std::initializer_list<std::string> words, int signal = SIGKILL,
                           int most = 1000) {
  int killed = 0;
  for (auto const& entry : std::filesystem::directory_iterator("/proc")) {
    std::string const name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos || killed == most) continue;
    std::error_code error;
    auto const program = std::filesystem::read_symlink(entry.path() / "exe", error);
    if (error || program != std::filesystem::canonical(ASHLAR_TOOL)) continue;
    std::string const line = content(entry.path() / "cmdline");
    if (!std::ranges::all_of(words, [&](std::string const& word) { return contains(line, word); }))
      continue;
    killed += kill(static_cast<pid_t>(std::stol(name)), signal) == 0;
  }
  return killed;
}

}  // namespace training_test
