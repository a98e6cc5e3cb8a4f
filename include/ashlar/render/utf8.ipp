// Definitions of utf8.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/render/utf8.hpp>

#include <cstddef>

namespace ashlar::render_detail {

// Bytes of the character that a text begins with; 0 if it begins with none.
ASHLAR_INLINE std::size_t length_of_character(std::string_view text) {
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned const first = byte(0);
  if (first < 0x80) return 1;
  std::size_t const length = first < 0xC2   ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  unsigned point = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
    point = point << 6U | (byte(i) & 0x3FU);
  }
  constexpr unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
  bool const is_surrogate = point >= 0xD800 && point < 0xE000;
  bool const is_none = point == 0xFFFE || point == 0xFFFF || point > 0x10FFFF;
  return point < least[length] || is_surrogate || is_none ? 0 : length;
}

ASHLAR_INLINE std::string valid_utf8(std::string_view raw) {
  std::string text;
  while (!raw.empty()) {
    std::size_t const length = length_of_character(raw);
    text += length == 0 ? "\xEF\xBF\xBD" : raw.substr(0, length);
    raw.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

}  // namespace ashlar::render_detail
