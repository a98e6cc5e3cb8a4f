// The safetensors format: eight bytes with the length of a header of JSON, the header, the tensors.
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gpt {

// A row-major tensor of a file. In a file that is read, its bytes begin `begin` bytes after the header.
struct stored_tensor {
  std::string type;  // F32, F64
  std::vector<std::size_t> shape;
  std::size_t begin = 0, size = 0;  // bytes

  friend bool operator==(stored_tensor const&, stored_tensor const&) = default;
};
using stored_tensors = std::map<std::string, stored_tensor>;

// The beginning of a file, padded so that the tensors after it, which follow each other in the order of
// `begin`, are aligned.
inline std::string safetensors_header(stored_tensors const& tensors) {
  auto header = nlohmann::json::object();
  for (auto const& [name, t] : tensors)
    header[name] = {
        {"dtype", t.type}, {"shape", t.shape}, {"data_offsets", {t.begin, t.begin + t.size}}};
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>((text.size() >> (8 * i)) & 0xff);
  return length + text;
}

// Returns the length that the first eight bytes tell, without them. Throws std::runtime_error if no file
// of `file_size` bytes can have it.
inline std::size_t safetensors_header_length(std::span<std::byte const, 8> first,
                                             std::uint64_t file_size) {
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) length |= std::to_integer<std::uint64_t>(first[i]) << (8 * i);
  if (file_size < 8 || length > file_size - 8)
    throw std::runtime_error("its header is said to have " + std::to_string(length)
                             + " bytes, which is more than there are");
  return length;
}

// Reads a list of sizes. Throws std::runtime_error for numbers like -1 and 1e300, which would become
// some size.
inline std::vector<std::size_t> stored_sizes(nlohmann::json const& list) {
  for (auto const& size : list)
    if (!list.is_array() || !size.is_number_unsigned())
      throw std::runtime_error("its header is damaged");
  return list.get<std::vector<std::size_t>>();
}

// Reads the header, without its length, of a file with `data_size` bytes after it. Throws
// std::runtime_error, naming the tensor, if it is no such header, and unless the tensors fill the file
// without gap and overlap.
inline stored_tensors read_safetensors_header(std::string const& text, std::size_t data_size) {
  stored_tensors all;
  // The parser would take a byte of zero for the end.
  if (text.find('\0') != std::string::npos) throw std::runtime_error("its header is damaged");
  try {
    auto const header = nlohmann::json::parse(text);
    for (auto const& [name, value] : header.items()) {
      if (name == "__metadata__") continue;
      auto const offsets = stored_sizes(value.at("data_offsets"));
      if (offsets.size() != 2 || offsets[0] > offsets[1])
        throw std::runtime_error("the offsets of tensor '" + name + "' are no range");
      all[name] = {value.at("dtype").get<std::string>(), stored_sizes(value.at("shape")), offsets[0],
                   offsets[1] - offsets[0]};
    }
  } catch (nlohmann::json::exception const&) {
    throw std::runtime_error("its header is damaged");
  }
  std::vector<std::pair<std::size_t, std::string>> order;
  for (auto const& [name, t] : all) {
    std::size_t elements = t.type == "F64" ? 8 : 4;
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    for (std::size_t const n : t.shape)  // a product that does not fit is no file's
      elements = n != 0 && elements > most / n ? most : elements * n;
    if (elements != t.size)
      throw std::runtime_error("tensor '" + name + "' has another size than its shape");
    order.emplace_back(t.begin, name);
  }
  std::sort(order.begin(), order.end());
  std::size_t end = 0;
  for (auto const& [begin, name] : order) {
    if (begin != end) throw std::runtime_error("tensor '" + name + "' does not follow the one before");
    end = begin + all[name].size;
  }
  if (end != data_size)
    throw std::runtime_error("its tensors have " + std::to_string(end) + " bytes, but there are "
                             + std::to_string(data_size));
  return all;
}

}  // namespace gpt
