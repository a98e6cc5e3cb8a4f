// CRC-32 as in zip, PNG and zlib.crc32().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gpt {

namespace detail {

// The table by byte, of the reflected polynomial 0x04c11db7 (ISO 3309).
inline constexpr std::array<std::uint32_t, 256> crc32_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0xedb88320U : 0U);
    table[byte] = rest;
  }
  return table;
}();

}  // namespace detail

constexpr std::uint32_t crc32(std::span<std::byte const> bytes) {
  std::uint32_t rest = ~std::uint32_t{0};
  for (std::byte const b : bytes)
    rest = detail::crc32_table[(rest ^ static_cast<std::uint32_t>(b)) & 0xff] ^ (rest >> 8);
  return ~rest;
}

}  // namespace gpt
