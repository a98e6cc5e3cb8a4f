// The lines of small configuration files, and the values in them.
#pragma once

#include "report/table_lines.hpp"

#include <string_view>
#include <vector>

namespace tool {

inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    auto const end = text.find('\n');
    all.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return all;
}

// The value without blanks, a comma at the end, and quotes around.
inline std::string_view unquoted(std::string_view text) {
  text = trimmed(text);
  if (text.ends_with(',')) text = trimmed(text.substr(0, text.size() - 1));
  bool const is_quoted =
      text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

}  // namespace tool
