// A file of a checkpoint: tensors, each with its checksum.
#pragma once

#include <gpt/safetensors.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace tool {

struct checkpoint_part {
  struct tensor {
    gpt::stored_tensor stored;
    std::uint32_t crc32 = 0;
  };

  std::string file;  // in the folder of the checkpoint
  std::uint64_t bytes = 0;
  std::map<std::string, tensor> tensors;
};

// A part of tensors of these sizes, in the order of their names: where each begins, and all bytes of the
// file. Checksums are the greatest.
checkpoint_part laid_out(std::string file, gpt::stored_tensors tensors);

// Writes tensors as laid_out() has them.
checkpoint_part write_part(std::string const& folder, std::string const& file,
                           std::map<std::string, std::span<std::byte const>> const& data,
                           gpt::stored_tensors tensors);

// Reads one tensor after another from a part.
class part_reader {
 public:
  // Throws usage_error unless the file is the one that was written.
  part_reader(std::string const& folder, checkpoint_part const& part);
  ~part_reader();
  part_reader(part_reader&&) noexcept;

  // Fills `bytes` with a tensor of the part. Throws usage_error, naming file and tensor, if they are not
  // those that were written.
  void read(std::string const& name, std::span<std::byte> bytes) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace tool
