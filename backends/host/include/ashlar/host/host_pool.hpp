// The place of a device's values while they are on the host: in memory, or in a file.
#pragma once

#include <ashlar/run/host_memory.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <system_error>

namespace ashlar::host {

// A file that is mapped into memory. It has all of its room from the start, so that no copy fails for
// want of it, and no name, so that it is gone when the process ends, however that happens.
class file_memory {
 public:
  // Makes `size` > 0 zero bytes in a file of `folder`; `alignment` is a power of two. Throws
  // std::system_error, which names the folder and `whose` it was to be, where the folder takes no file
  // or has no room for it.
  file_memory(std::string const& folder, std::string const& whose, std::size_t size,
              std::size_t alignment)
      : size_(size), mapped_(size + alignment) {
    auto const require = [&](int error) {
      if (error != 0)
        throw std::system_error(error, std::generic_category(),
                                "the folder '" + folder + "' cannot take the " + std::to_string(size)
                                    + " bytes that " + whose + " offloads");
    };
    std::string name = folder + "/ashlar-offload-XXXXXX";
    descriptor const file{mkostemp(name.data(), O_CLOEXEC)};
    require(file.number < 0 ? errno : 0);
    require(unlink(name.c_str()) != 0 ? errno : 0);
    int error = EINTR;
    while (error == EINTR) error = posix_fallocate(file.number, 0, static_cast<off_t>(mapped_));
    require(error);
    void* const all = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, file.number, 0);
    require(all == MAP_FAILED ? errno : 0);
    mapping_ = {static_cast<std::byte*>(all), {mapped_}};
    void* first = all;
    std::size_t room = mapped_;
    data_ = static_cast<std::byte*>(std::align(alignment, size, first, room));
  }
  std::span<std::byte> view() const { return {data_, size_}; }

 private:
  struct descriptor {
    int number;
    explicit descriptor(int n) : number(n) {}
    descriptor(descriptor const&) = delete;
    ~descriptor() {
      if (number >= 0) close(number);
    }
  };
  struct release {
    std::size_t size;
    void operator()(std::byte* p) const { munmap(p, size); }
  };

  std::size_t size_, mapped_;
  std::unique_ptr<std::byte, release> mapping_{nullptr, {0}};
  std::byte* data_ = nullptr;
};

// Memory of a device's slots on the host: allocated, or in a file of a folder where one is given.
class host_pool {
 public:
  // Throws as file_memory does.
  host_pool(std::string const& folder, std::string const& whose, std::size_t size, std::size_t alignment)
      : memory_(folder.empty() ? size : 0, alignment) {
    if (!folder.empty() && size > 0)
      file_ = std::make_unique<file_memory>(folder, whose, size, alignment);
  }
  std::span<std::byte> view() const { return file_ ? file_->view() : memory_.view(); }

 private:
  aligned_memory memory_;
  std::unique_ptr<file_memory> file_;
};

}  // namespace ashlar::host
