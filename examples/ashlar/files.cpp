#include "files.hpp"

#include "command.hpp"
#include "limits.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace tool {

namespace {

struct close_file {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using owned_file = std::unique_ptr<std::FILE, close_file>;

[[noreturn]] void fail(char const* verb, std::string const& path) {
  throw usage_error(fmt::format("cannot {} '{}': {}", verb, path, std::strerror(errno)));
}

}  // namespace

std::string read_text(std::string const& path) {
  owned_file opened;
  if (path != "-") {
    opened.reset(std::fopen(path.c_str(), "rb"));
    if (!opened) fail("read", path);
  }
  std::FILE* const file = opened ? opened.get() : stdin;
  std::string text;
  char part[1 << 16];
  while (std::size_t const count = std::fread(part, 1, sizeof part, file)) {
    text.append(part, count);
    if (text.size() > most_bytes)
      throw usage_error(fmt::format("'{}' is larger than {} MiB", path, most_bytes / (1024 * 1024)));
  }
  if (std::ferror(file) != 0) fail("read", path);
  if (text.find('\0') != std::string::npos)
    throw usage_error(fmt::format("'{}' is not a text file", path));
  return text;
}

void write_text(std::string const& path, std::string_view text) {
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;  // main looks whether that went well
  }
  owned_file file(std::fopen(path.c_str(), "wb"));
  if (!file) fail("write", path);
  if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size()
      || std::fflush(file.get()) != 0)
    fail("write", path);
}

}  // namespace tool
