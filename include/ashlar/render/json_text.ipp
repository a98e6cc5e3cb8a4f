// Definitions of json_text.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/render/json_text.hpp>
#include <ashlar/render/utf8.hpp>

namespace ashlar::render_detail {

ASHLAR_INLINE std::string escape_json(std::string_view raw) {
  std::string safe;
  for (char c : valid_utf8(raw)) {
    auto const byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      safe += '\\';
      safe += c;
    } else if (byte < 0x20 || c == '<') {
      safe += "\\u00";
      safe += "0123456789abcdef"[byte / 16];
      safe += "0123456789abcdef"[byte % 16];
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace ashlar::render_detail
