#include "files/files.hpp"

#include "command.hpp"
#include "options/memory_cap.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

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

constexpr int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGXFSZ};
char unfinished[PATH_MAX];  // the file that such a signal removes before it ends the tool

void remove_unfinished(int signal) {
  unlink(unfinished);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

// While it lives, signals that would end the tool remove the file; those that are handled otherwise
// stay so.
class removed_by_signals {
 public:
  explicit removed_by_signals(std::string const& name) {
    if (name.size() >= sizeof unfinished) return;
    unfinished[name.copy(unfinished, name.size())] = '\0';
    for (int const signal : ending_signals) set(signal, SIG_DFL, remove_unfinished);
  }
  removed_by_signals(removed_by_signals const&) = delete;
  removed_by_signals& operator=(removed_by_signals const&) = delete;
  ~removed_by_signals() {
    for (int const signal : ending_signals) set(signal, remove_unfinished, SIG_DFL);
  }

 private:
  using handler = void (*)(int);
  static void set(int signal, handler from, handler to) {
    if (handler const before = std::signal(signal, to); before != from) std::signal(signal, before);
  }
};

// Holds back signals that would end the tool, while it lives.
class held_signals {
 public:
  held_signals() {
    sigset_t all = {};
    sigemptyset(&all);
    for (int const signal : ending_signals) sigaddset(&all, signal);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  held_signals(held_signals const&) = delete;
  held_signals& operator=(held_signals const&) = delete;
  ~held_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_ = {};
};

// A file of its own beside `target`, which one rename can put in its place.
class temporary_file {
 public:
  explicit temporary_file(std::string const& target, std::string const& path)
      : name_(target + ".XXXXXX"), path_(path) {
    held_signals const until_it_is_known;
    int const descriptor = mkstemp(name_.data());
    if (descriptor < 0) refuse_file("write", path_);
    removed_.emplace(name_);
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
  std::optional<removed_by_signals> removed_;
  owned_file file_;
};

void write_all(std::FILE* file, std::string_view text, std::string const& path) {
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0)
    refuse_file("write", path);
}

}  // namespace

std::string read_bytes(std::string const& path) {
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
  return text;
}

std::string read_text(std::string const& path) {
  std::string text = without_mark(read_bytes(path), path);
  if (text.find('\0') != std::string::npos)
    throw usage_error(fmt::format("'{}' is not a text file", path));
  return text;
}

// A link stays, and its target is replaced. A device, a pipe and a file that a shell has already opened
// (/dev/stdout) are written as they are.
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
