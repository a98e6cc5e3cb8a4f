// Files of text, read whole and written whole.
#pragma once

#include <string>
#include <string_view>

namespace tool {

// `-` is standard input. Throws usage_error for what cannot be read, is too large or is no text.
std::string read_text(std::string const& path);

// `-` is standard output. Throws usage_error where writing fails.
void write_text(std::string const& path, std::string_view text);

}  // namespace tool
