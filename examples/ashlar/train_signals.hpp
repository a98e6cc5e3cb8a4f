// Ctrl-C while training: once to end after the step, twice to end at once.
#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace tool {

// The first signal that came, or 0.
inline volatile std::sig_atomic_t interrupted = 0;

// What a shell says of a program that a signal ended.
inline int code_of_signal(int signal) { return 128 + signal; }

inline void stop_on_signals() {
  for (int const signal : {SIGINT, SIGTERM}) {
    auto const before = std::signal(signal, [](int number) {
      if (interrupted != 0) std::_Exit(code_of_signal(number));
      interrupted = number;
      constexpr char words[] = "\nashlar: ends after this step; once more ends at once\n";
      [[maybe_unused]] auto const written = write(STDERR_FILENO, words, sizeof words - 1);
    });
    if (before == SIG_IGN) std::signal(signal, SIG_IGN);  // as nohup and & have it
  }
}

}  // namespace tool
