// Files of text, read whole and written whole.
#pragma once

#include <string>
#include <string_view>

namespace tool {

// Throws usage_error: cannot `verb` the file, and why, as errno says.
[[noreturn]] void refuse_file(char const* verb, std::string const& path);

// `-` is standard input. A byte order mark of UTF-8 is skipped. Throws usage_error for what cannot be
// read, is too large or is no text.
std::string read_text(std::string const& path);

// Where a result will go; `-` is standard output. A file appears whole, in place of what was there, or
// not at all.
class output {
 public:
  // To be made before the work: throws usage_error where nothing can be written.
  explicit output(std::string path);

  // All of it, at once. Throws usage_error where writing fails.
  void write(std::string_view text) const;

 private:
  std::string path_;
  std::string target_ = {};  // what a rename replaces; empty: written in place
};

}  // namespace tool
