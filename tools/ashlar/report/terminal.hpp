// Properties of standard output.
#pragma once

#include <string>
#include <string_view>

namespace tool {

// `choice` is auto, always or never. Auto means colour on a terminal, unless NO_COLOR is set
// (https://no-color.org).
bool wants_colour(std::string const& choice);

// Columns of the terminal; 100 where there is none.
int terminal_width();

// Shows the phase of a long command: a line on standard error, if that is a terminal, gone when it is
// over.
class phase_line {
 public:
  phase_line() = default;
  phase_line(phase_line const&) = delete;
  phase_line& operator=(phase_line const&) = delete;
  ~phase_line() { end(); }

  void say(std::string_view phase);
  void end();

 private:
  bool drawn_ = false;
};

}  // namespace tool
