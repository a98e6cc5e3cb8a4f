// The progress of training: a bar that redraws itself on a terminal, a line now and then elsewhere.
#pragma once

#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <string>

namespace tool {

class progress {
 public:
  using clock = std::chrono::steady_clock;

  progress(int steps, bool terminal)
      : steps_(steps), terminal_(terminal), pause_(terminal ? 0.1 : 5.0) {}

  // Call it after step `done` (from 1). It draws only when it is time to.
  void update(int done, double loss, double tokens_per_second, double step_ms, double predicted_ms) {
    auto const now = clock::now();
    if (done != steps_ && done != 1 && std::chrono::duration<double>(now - last_).count() < pause_)
      return;
    last_ = now;
    constexpr int width = 24;
    int const full = static_cast<int>(static_cast<long long>(done) * width / steps_);
    std::string bar(static_cast<std::size_t>(full), '#');
    bar.resize(width, '.');
    fmt::print("{}[{}] {}/{}  loss {:.3f}  {:.0f} tokens/s  step {:.1f} ms{}{}", terminal_ ? "\r" : "",
               bar, done, steps_, loss, tokens_per_second, step_ms,
               predicted_ms > 0 ? fmt::format(" (predicted {:.1f})", predicted_ms) : "",
               terminal_ ? "  " : "\n");
    std::fflush(stdout);
    drawn_ = true;
  }

  // Leaves the bar's line.
  void end() {
    if (terminal_ && drawn_) fmt::print("\n");
    drawn_ = false;
  }

 private:
  int steps_;
  bool terminal_;
  double pause_;
  bool drawn_ = false;
  clock::time_point last_{};
};

}  // namespace tool
