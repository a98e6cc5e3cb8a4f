// Tensors of a checkpoint, whole or in part, however they were divided when it was written.
#pragma once

#include "train/checkpoint.hpp"

#include <gpt/linear.hpp>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tool {

// The name under which some entries of a tensor are stored: the tensor's, with the entries if they are
// not all, as in head.weight[64:128].
std::string stored_name(std::string const& tensor, gpt::tensor_part const& part);

// Refers to the checkpoint. All of this throws usage_error, naming the file, unless it is as it was
// written.
class checkpoint_reader {
 public:
  explicit checkpoint_reader(checkpoint const& c);

  // Fills `bytes` with these entries of a tensor.
  void read(std::string const& tensor, gpt::tensor_part const& part, std::span<std::byte> bytes) const;

 private:
  struct piece {
    int first = 0, count = 0;
    std::string name;
  };

  // The pieces of a tensor with `entries` entries, in order.
  std::vector<piece> pieces_of(std::string const& tensor, int entries) const;
  void read_stored(std::string const& name, std::span<std::byte> bytes) const;

  checkpoint const* from_;
  std::map<std::string, std::size_t> part_of_;  // by name: the reader
  std::vector<part_reader> readers_;
};

}  // namespace tool
