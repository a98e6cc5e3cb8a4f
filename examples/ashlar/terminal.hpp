// What standard output is.
#pragma once

#include <string>

namespace tool {

// `choice` is auto, always or never. By itself: on a terminal, unless NO_COLOR is set
// (https://no-color.org).
bool wants_colour(std::string const& choice);

// Columns of the terminal; 100 where there is none.
int terminal_width();

}  // namespace tool
