// Ctrl-C while training: once to end after the step, twice to end at once.
#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace tool {

// The first signal received, or 0.
inline volatile std::sig_atomic_t interrupted = 0;
// Whether this process reports signals; of several, one does.
inline volatile std::sig_atomic_t reports_signals = 1;
// Whether there is a step that the first signal waits for.
inline volatile std::sig_atomic_t is_stepping = 0;
// A flag that a backend wants to have set when the first SIGTERM comes.
inline std::sig_atomic_t volatile* also_set = nullptr;

// The exit code that a shell reports for a program that a signal ended.
inline int code_of_signal(int signal) { return 128 + signal; }

inline void stop_on_signals() {
  for (int const signal : {SIGINT, SIGTERM}) {
    auto const before = std::signal(signal, [](int number) {
      if (interrupted != 0) std::_Exit(code_of_signal(number));
      interrupted = number;
      if (number == SIGTERM && also_set != nullptr) *also_set = 1;
      if (reports_signals == 0) return;
      constexpr char after_step[] = "\nashlar: ends after this step; a second Ctrl-C ends at once\n",
                     before_first[] =
                         "\nashlar: ends before the first step; a second Ctrl-C ends at once\n";
      [[maybe_unused]] auto const written =
          is_stepping != 0 ? write(STDERR_FILENO, after_step, sizeof after_step - 1)
                           : write(STDERR_FILENO, before_first, sizeof before_first - 1);
    });
    if (before == SIG_IGN) std::signal(signal, SIG_IGN);  // as nohup and & have it
  }
}

}  // namespace tool
