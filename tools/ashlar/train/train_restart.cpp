#include "train/train_restart.hpp"

#include "command.hpp"
#include "options/effects.hpp"
#include "train/checkpoint.hpp"
#include "train/launcher_end.hpp"
#include "train/train_signals.hpp"
#include "train/training.hpp"

#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace tool {

namespace {

// The file in the folder of --save that says how the training has ended: its code; nothing where it
// broke off with all devices there. Hidden, so that no corpus has it.
std::string ended_file(train_options const& o) { return o.save + "/.ended"; }

volatile std::sig_atomic_t child_process = 0;
volatile std::sig_atomic_t stop_signal = 0;

// The first `count` devices that may be lost.
std::vector<int> first_lost(train_options const& o, int count) {
  std::vector<int> const& all = o.shape.lost;
  return {all.begin(),
          all.begin()
              + std::min(static_cast<std::ptrdiff_t>(all.size()), static_cast<std::ptrdiff_t>(count))};
}

// The command to run: a launcher where the backend needs one, then this program with its own arguments;
// later options overrule earlier ones. `from`: a checkpoint, or empty.
std::vector<std::string> line_of(train_options o, std::string const& from, int lost) {
  bool const loses = !o.shape.lost.empty();
  o.shape.lost = first_lost(o, lost);
  std::vector<std::string> line;
  if (o.backend == "mpi") {
    std::istringstream words(o.launcher);
    for (std::string word; words >> word;) line.push_back(word);
    line.insert(line.end(), {"-n", std::to_string(processes_of(o))});
  }
  line.emplace_back("/proc/self/exe");
  if (char* const self = realpath("/proc/self/exe", nullptr)) {
    line.back() = self;
    std::free(self);
  }
  line.insert(line.end(), command_line.begin() + 1, command_line.end());
  line.insert(line.end(), {"--restart", "0"});
  if (loses)
    line.insert(line.end(),
                {"--lost-devices",
                 o.shape.lost.empty() ? "none" : fmt::format("{}", fmt::join(o.shape.lost, ","))});
  // It resumes from the folder, not from the newest checkpoint now: processes of a launcher that was
  // killed may save once more.
  if (!from.empty()) line.insert(line.end(), {"--resume", o.save});
  return line;
}

// Returns what waitpid() says.
int wait_for(pid_t child, train_options const& o) {
  int status = 0;
  bool const has_launcher = o.backend == "mpi";
  launcher_end end(child, o.deadline_ms());
  for (;;) {
    pid_t const ended = waitpid(child, &status, has_launcher ? WNOHANG : 0);
    if (ended > 0 || (ended < 0 && errno != EINTR)) return status;
    if (!has_launcher) continue;
    if (end.is_overdue()) {
      std::fputs(fmt::format("ashlar: the launcher is killed: its processes have ended, and it has not, "
                             "for {:g} s\n",
                             o.deadline)
                     .c_str(),
                 stderr);
      kill(-child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

int run_to_the_end(std::vector<std::string> line, train_options const& o) {
  std::vector<char*> words;
  for (std::string& word : line) words.push_back(word.data());
  words.push_back(nullptr);
  std::fflush(stdout);
  pid_t const parent = getpid(), child = fork();
  if (child < 0) throw usage_error(fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (child == 0) {
    // A terminal's Ctrl-C reaches this process, which hands it on; without this process there is none.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(failed);
    for (int const signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
    execvp(words[0], words.data());
    std::fprintf(stderr, "ashlar: cannot run '%s': %s\n", words[0], std::strerror(errno));
    _exit(unusable);
  }
  child_process = child;
  if (stop_signal != 0) kill(child, stop_signal);  // it came before there was a child
  int const status = wait_for(child, o);
  child_process = 0;
  return status;
}

// The exit code that the training itself left; nothing where it could not.
std::optional<int> reported_code(train_options const& o) {
  int code = 0;
  std::ifstream file(ended_file(o));
  return file >> code ? std::optional(code) : std::nullopt;
}

// Whether another process waits for the end of this one.
bool may_start_again(train_options const& o) {
  return o.restart == 0 && !o.save.empty() && is_given(*o.shape.command, "--restart");
}

// Why it may be worth another try; empty: it is not. `launched`: of a launcher, without a word of the
// training.
std::string failure_of(int status, bool launched) {
  if (WIFSIGNALED(status)) return fmt::format("was killed by signal {}", WTERMSIG(status));
  int const code = WEXITSTATUS(status);
  bool const by_hand = code == code_of_signal(SIGINT) || code == code_of_signal(SIGTERM);
  if (code == failed) return "broke off";
  if (launched && code == invalid) return "was ended by its launcher";
  if (code > 128 && !by_hand) return fmt::format("was killed by signal {}", code - 128);
  return {};
}

}  // namespace

int train_again_and_again(train_options const& o) {
  for (int const signal : {SIGINT, SIGTERM})
    std::signal(signal, [](int number) {
      stop_signal = number;
      if (child_process != 0) kill(static_cast<pid_t>(child_process), number);
    });
  std::string from;
  for (int restarts = 0, losses = 0;; ++restarts) {
    std::error_code ignored;
    std::filesystem::remove(ended_file(o), ignored);
    int const status = run_to_the_end(line_of(o, from, losses), o);
    if (stop_signal != 0) return code_of_signal(stop_signal);
    std::optional<int> const reported = reported_code(o);
    if (!std::filesystem::remove(ended_file(o), ignored)) ++losses;
    if (reported) return *reported;
    std::string const failure = failure_of(status, o.backend == "mpi");
    if (failure.empty()) return WEXITSTATUS(status);
    if (restarts == o.restart)
      throw run_error(
          fmt::format("the training {} and is not started again after {} restarts", failure, restarts));
    from = newest_checkpoint(o.save);
    std::vector<int> const lost = first_lost(o, losses);
    std::fputs(fmt::format("ashlar: the training {}; restart {} of {} {}{}\n", failure, restarts + 1,
                           o.restart, from.empty() ? "from the beginning" : "from " + from,
                           lost.empty() ? "" : fmt::format(" without device {}", fmt::join(lost, ", ")))
                   .c_str(),
               stderr);
  }
}

void report_restarting(train_options const& o, int code) {
  if (may_start_again(o)) std::ofstream(ended_file(o)) << code << '\n';
}

void report_breaking_off(train_options const& o) {
  if (may_start_again(o)) std::ofstream{ended_file(o)};  // an empty file has room on a full disk
}

}  // namespace tool
