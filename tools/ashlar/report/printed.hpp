// Names from files and command lines in what the tool prints.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace tool {

// Writes control characters as \x1b, so that no text from outside reaches the terminal as an escape
// sequence; also those of C1, and those that turn the direction of writing.
inline std::string printable(std::string_view raw) {
  constexpr char const* digits = "0123456789abcdef";
  auto const is_turn = [](std::string_view three) {
    return (three[0] == '\xe2' && three[1] == '\x80' && three[2] >= '\xaa' && three[2] <= '\xae')
           || (three[0] == '\xe2' && three[1] == '\x81' && three[2] >= '\xa6' && three[2] <= '\xa9');
  };
  std::string text;
  for (std::size_t i = 0; i < raw.size();) {
    auto const byte = static_cast<unsigned char>(raw[i]);
    std::string_view const next = raw.substr(i);
    bool const is_c1 = next.size() > 1 && next[0] == '\xc2'
                       && static_cast<unsigned char>(next[1]) / 0x20 == 4;  // 80 to 9f
    std::size_t const hidden = byte < 0x20 || byte == 0x7f        ? 1
                               : is_c1                            ? 2
                               : next.size() > 2 && is_turn(next) ? 3
                                                                  : 0;
    for (std::size_t k = 0; k < hidden; ++k) {
      auto const each = static_cast<unsigned char>(raw[i + k]);
      text += {'\\', 'x', digits[each / 16], digits[each % 16]};
    }
    if (hidden == 0) text += raw[i];
    i += hidden == 0 ? 1 : hidden;
  }
  return text;
}

// Shows a text of several lines.
inline std::string printable_lines(std::string_view raw) {
  std::string text;
  for (;;) {
    std::size_t const end = raw.find('\n');
    text += printable(raw.substr(0, end));
    if (end == std::string_view::npos) return text;
    text += '\n';
    raw.remove_prefix(end + 1);
  }
}

// JSON as text; a byte of a name that is no UTF-8 becomes U+FFFD.
template <class Json>
std::string dumped(Json const& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// Quotes a field of CSV as RFC 4180 does.
inline std::string csv_quoted(std::string_view raw) {
  std::string field = "\"";
  for (char const c : raw) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + "\"";
}

// Quotes only where it has to. Text that a spreadsheet would take for a formula gets a ' in front.
inline std::string csv_field(std::string_view raw) {
  bool const is_formula =
      !raw.empty() && std::string_view("=+-@\t\r").find(raw[0]) != std::string_view::npos;
  std::string const text = (is_formula ? "'" : "") + printable(raw);
  return text.find_first_of(",\"") == std::string::npos ? text : csv_quoted(text);
}

}  // namespace tool
