#include "report/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace tool {

bool wants_colour(std::string const& choice) {
  if (choice != "auto") return choice == "always";
  char const* const no = std::getenv("NO_COLOR");
  char const* const term = std::getenv("TERM");
  bool const forbidden =
      (no != nullptr && *no != '\0') || (term != nullptr && std::string_view(term) == "dumb");
  return !forbidden && isatty(STDOUT_FILENO) == 1;
}

void phase_line::end() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

void phase_line::say(std::string_view phase) {
  if (isatty(STDERR_FILENO) != 1) return;
  std::fputs("\r\x1b[K", stderr);
  std::fwrite(phase.data(), 1, phase.size(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

int terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 100;
}

}  // namespace tool
