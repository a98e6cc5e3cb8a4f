// Reads any bytes as a file of the safetensors format. Its header is true of the file and comes back
// when it is written again, or it is refused with words.
#include <gpt/safetensors.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>

namespace {

void demand(bool holds) {
  if (!holds) std::abort();
}

// Whether the elements take the tensor's bytes; by division, which does not overflow.
bool has_size(gpt::stored_tensor const& t) {
  std::size_t left = t.size;
  for (std::size_t const n : t.shape)
    if (n == 0) return t.size == 0;
  for (std::size_t const n : t.shape) {
    if (left % n != 0) return false;
    left /= n;
  }
  return left == (t.type == "F64" ? 8 : 4);
}

void check_header(std::string const& text, std::size_t data_size) {
  gpt::stored_tensors const all = gpt::read_safetensors_header(text, data_size);
  std::size_t sum = 0;
  for (auto const& [name, t] : all) {
    demand(t.begin <= data_size && t.size <= data_size - t.begin && has_size(t));
    sum += t.size;
  }
  demand(sum == data_size);
  demand(gpt::read_safetensors_header(gpt::safetensors_header(all).substr(8), data_size) == all);
}

}  // namespace

// The first byte is the size of what follows the header, a file's first eight bytes and its header after
// it.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size < 9) return 0;
  std::span<std::byte const> const file = std::as_bytes(std::span(data, size)).subspan(1);
  try {
    std::size_t const length = gpt::safetensors_header_length(file.first<8>(), file.size());
    demand(length <= file.size() - 8);
  } catch (std::runtime_error const& e) {
    demand(e.what()[0] != '\0');
  }
  try {
    check_header(std::string(reinterpret_cast<char const*>(file.data()) + 8, file.size() - 8), data[0]);
  } catch (std::runtime_error const& e) {
    demand(e.what()[0] != '\0');
  }
  return 0;
}
