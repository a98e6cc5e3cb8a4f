#include "files/durable_file.hpp"

#include "command.hpp"
#include "files/files.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace tool {

namespace {

struct owned_descriptor {
  int number;

  explicit owned_descriptor(int n) : number(n) {}
  owned_descriptor(owned_descriptor const&) = delete;
  owned_descriptor& operator=(owned_descriptor const&) = delete;
  ~owned_descriptor() {
    if (number >= 0) close(number);
  }
};

[[noreturn]] void refuse_writing(std::string const& path) {
  if (errno == ENOSPC || errno == EDQUOT)
    throw run_error(fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  refuse_file("write", path);
}

}  // namespace

void write_durably(std::string const& path, std::vector<std::span<std::byte const>> const& parts) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that must not grow is an error like a full disk
  owned_descriptor const file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.number < 0) refuse_writing(path);
  for (std::span<std::byte const> rest : parts)
    while (!rest.empty()) {
      ssize_t const written = write(file.number, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) refuse_writing(path);
      rest = rest.subspan(static_cast<std::size_t>(written));
    }
  if (fsync(file.number) != 0) refuse_writing(path);
}

void sync_folder(std::string const& path) {
  owned_descriptor const folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.number < 0 || (fsync(folder.number) != 0 && errno != EINVAL)) refuse_file("write", path);
}

read_only_file::read_only_file(std::string path)
    : path_(std::move(path)), descriptor_(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat there {};
  if (descriptor_ < 0) refuse_file("read", path_);
  if (fstat(descriptor_, &there) != 0) {
    close(descriptor_);
    refuse_file("read", path_);
  }
  if (!S_ISREG(there.st_mode)) {  // a fifo would have no end
    close(descriptor_);
    throw usage_error(fmt::format("'{}' is not a file", path_));
  }
  size_ = static_cast<std::size_t>(there.st_size);
}

read_only_file::~read_only_file() { close(descriptor_); }

void read_only_file::read(std::size_t begin, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    ssize_t const count = pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(begin));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse_file("read", path_);
    if (count == 0) throw usage_error(fmt::format("'{}' has become shorter while it was read", path_));
    begin += static_cast<std::size_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

}  // namespace tool
