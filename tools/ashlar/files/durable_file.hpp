// Files that survive a crash once they have been written.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tool {

// Writes a file and returns when it is on the disk. Throws usage_error, naming the file; run_error where
// the disk is full, because others may make room.
void write_durably(std::string const& path, std::vector<std::span<std::byte const>> const& parts);

// Returns when everything made, renamed or removed in a folder is on the disk.
void sync_folder(std::string const& path);

// Random access to a file. Throws usage_error, naming the file, where it cannot be read.
class read_only_file {
 public:
  explicit read_only_file(std::string path);
  read_only_file(read_only_file const&) = delete;
  read_only_file& operator=(read_only_file const&) = delete;
  ~read_only_file();

  std::size_t size() const { return size_; }
  // Fills `bytes` from position `begin` on; they must be there.
  void read(std::size_t begin, std::span<std::byte> bytes) const;

 private:
  std::string path_;
  int descriptor_;
  std::size_t size_ = 0;
};

}  // namespace tool
