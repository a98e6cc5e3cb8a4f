#include "train/folder_lock.hpp"

#include "command.hpp"
#include "files/durable_file.hpp"
#include "files/files.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

namespace tool {

namespace {

// Whether the file is still there. If another training is about to remove it, its lock no longer
// matters.
bool is_still_there(int descriptor, std::string const& path) {
  struct stat held {};
  struct stat named {};
  return fstat(descriptor, &held) == 0 && stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino
         && held.st_dev == named.st_dev;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown host";
}

std::string holder_in(int descriptor) {
  std::array<char, 400> said{};
  ssize_t const count = pread(descriptor, said.data(), said.size(), 0);
  return count > 0 ? std::string(said.data(), static_cast<std::size_t>(count)) : "an unknown process";
}

// Finds a folder that is read-only or full here, and not after hours.
void must_be_writable(std::string const& folder) {
  std::vector<std::byte> const some(4096);
  std::string const probe = folder + "/.probe";
  write_durably(probe, {some});
  std::error_code ignored;
  std::filesystem::remove(probe, ignored);
}

}  // namespace

folder_lock::folder_lock(std::string const& folder, std::chrono::milliseconds timeout)
    : path_(folder + "/.lock") {
  using steady = std::chrono::steady_clock;
  constexpr auto pause = std::chrono::milliseconds(50);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw usage_error(fmt::format("cannot make the folder '{}': {}", folder, error.message()));
  for (auto const end = steady::now() + timeout;;) {
    int const descriptor =
        open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (descriptor < 0) refuse_file("write", path_);
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0 && is_still_there(descriptor, path_)) {
      descriptor_ = descriptor;
      break;
    }
    std::string const holder = holder_in(descriptor);
    close(descriptor);
    if (steady::now() >= end)
      throw run_error(fmt::format("--save: '{}' is written by another training, {}", folder, holder));
    std::this_thread::sleep_for(pause);
  }
  std::string const own = fmt::format("process {} on {}", getpid(), host_name());
  bool const is_written =
      ftruncate(descriptor_, 0) == 0
      && pwrite(descriptor_, own.data(), own.size(), 0) == static_cast<ssize_t>(own.size());
  try {
    if (!is_written) refuse_file("write", path_);
    must_be_writable(folder);
  } catch (...) {
    unlink(path_.c_str());
    close(descriptor_);
    throw;
  }
}

folder_lock::~folder_lock() {
  unlink(path_.c_str());  // while it is held
  close(descriptor_);
}

}  // namespace tool
