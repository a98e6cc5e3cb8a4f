// Files of text, read whole and written whole.
#pragma once

#include <string>
#include <string_view>

namespace tool {

// Throws usage_error: cannot `verb` the file, and why, as errno says.
[[noreturn]] void refuse_file(char const* verb, std::string const& path);

// Reads a file; `-` is standard input. A byte order mark of UTF-8 is skipped. Throws usage_error if it
// cannot be read, is too large or is no text.
std::string read_text(std::string const& path);

// Reads a file of any bytes. Throws usage_error if it cannot be read or is too large.
std::string read_bytes(std::string const& path);

// A place for a result; `-` is standard output. A file appears whole, in place of the old one, or not at
// all.
class output {
 public:
  // Make it before the work: it throws usage_error where nothing can be written.
  explicit output(std::string path);

  // Writes all of it, at once. Throws usage_error where writing fails.
  void write(std::string_view text) const;

 private:
  std::string path_;
  std::string target_ = {};  // what a rename replaces; empty: written in place
};

}  // namespace tool
