#include "files.hpp"

#include "command.hpp"
#include "memory_cap.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace tool {

void refuse_file(char const* verb, std::string const& path) {
  throw usage_error(fmt::format("cannot {} '{}': {}", verb, path, std::strerror(errno)));
}

namespace {

struct close_file {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using owned_file = std::unique_ptr<std::FILE, close_file>;

// Editors of some systems put a byte order mark first; UTF-8 needs none.
std::string without_mark(std::string text, std::string const& path) {
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  if (text.starts_with("\xFE\xFF") || text.starts_with("\xFF\xFE"))
    throw usage_error(fmt::format("'{}' is in UTF-16; save it as UTF-8", path));
  return text;
}

// A file of its own beside `target`, which one rename can put in its place.
class temporary_file {
 public:
  explicit temporary_file(std::string const& target, std::string const& path)
      : name_(target + ".XXXXXX"), path_(path) {
    int const descriptor = mkstemp(name_.data());
    if (descriptor < 0) refuse_file("write", path_);
    file_.reset(fdopen(descriptor, "wb"));
  }
  temporary_file(temporary_file const&) = delete;
  temporary_file& operator=(temporary_file const&) = delete;
  ~temporary_file() {
    if (!name_.empty()) unlink(name_.c_str());
  }

  std::FILE* get() const { return file_.get(); }

  void replace(std::string const& target) {
    mode_t const mask = umask(0);
    umask(mask);
    struct stat old {};
    bool const exists = stat(target.c_str(), &old) == 0;
    fchmod(fileno(file_.get()), exists ? old.st_mode & 07777 : 0666 & ~mask);
    if (std::rename(name_.c_str(), target.c_str()) != 0) refuse_file("write", path_);
    name_.clear();
  }

 private:
  std::string name_, path_;
  owned_file file_;
};

void write_all(std::FILE* file, std::string_view text, std::string const& path) {
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0)
    refuse_file("write", path);
}

}  // namespace

std::string read_text(std::string const& path) {
  owned_file opened;
  if (path != "-") {
    opened.reset(std::fopen(path.c_str(), "rb"));
    if (!opened) refuse_file("read", path);
  }
  std::FILE* const file = opened ? opened.get() : stdin;
  std::string text;
  char part[1 << 16];
  while (std::size_t const count = std::fread(part, 1, sizeof part, file)) {
    text.append(part, count);
    if (text.size() > most_bytes_of_file())
      throw usage_error(fmt::format("'{}' is larger than {} MiB, which takes too much memory; {}", path,
                                    most_bytes_of_file() / (1024 * 1024), words_of_cap()));
  }
  if (std::ferror(file) != 0) refuse_file("read", path);
  text = without_mark(std::move(text), path);
  if (text.find('\0') != std::string::npos)
    throw usage_error(fmt::format("'{}' is not a text file", path));
  return text;
}

// Links stay links: what they lead to is replaced. What is no file, like a device or a pipe, is written
// as it is, and so is what a shell has already opened, /dev/stdout.
output::output(std::string path) : path_(std::move(path)) {
  if (path_ == "-") return;
  struct stat there {};
  bool const exists = stat(path_.c_str(), &there) == 0;
  if (exists && S_ISDIR(there.st_mode)) {
    errno = EISDIR;
    refuse_file("write", path_);
  }
  if (exists && access(path_.c_str(), W_OK) != 0) refuse_file("write", path_);
  if (exists && (!S_ISREG(there.st_mode) || path_.starts_with("/dev/") || path_.starts_with("/proc/")))
    return;
  target_ = path_;
  if (char* const real = exists ? realpath(path_.c_str(), nullptr) : nullptr) {
    target_ = real;
    std::free(real);
  }
  if (path_.empty() || path_.ends_with('/')) {
    errno = path_.empty() ? ENOENT : EISDIR;
    refuse_file("write", path_);
  }
  temporary_file(target_, path_);  // that one can be made is all there is to know
}

void output::write(std::string_view text) const {
  if (path_ == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;  // main looks whether that went well
  }
  if (target_.empty()) {
    owned_file const file(std::fopen(path_.c_str(), "wb"));
    if (!file) refuse_file("write", path_);
    return write_all(file.get(), text, path_);
  }
  temporary_file whole(target_, path_);
  write_all(whole.get(), text, path_);
  whole.replace(target_);
}

}  // namespace tool
