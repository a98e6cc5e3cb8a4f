#include "files/json_files.hpp"

#include "files/files.hpp"
#include "options/memory_cap.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace tool {

namespace {

// Puts texts of the same length in their place.
std::string without_infinities(std::string text) {
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') is_quoted = !is_quoted;
    if (text[i] == '\\' && is_quoted) ++i;
    for (std::string_view const word : {"-Infinity", "Infinity", "NaN"}) {
      if (is_quoted || text.compare(i, word.size(), word) != 0) continue;
      text[i] = text[i + word.size() - 1] = '"';
      i += word.size() - 1;
    }
  }
  return text;
}

}  // namespace

bool holds_json(std::string const& text) {
  auto const first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

json_text read_json_text(std::string const& path) { return json_text_of(read_text(path), path); }

json_text read_python_json(std::string const& path) {
  return json_text_of(without_infinities(read_text(path)), path);
}

json_text json_text_of(std::string text, std::string const& path) {
  constexpr double bytes_a_value = 64;  // a short text, the key of a number, or room to grow
  auto const values =
      std::count_if(text.begin(), text.end(), [](char c) { return c == ',' || c == '[' || c == '{'; });
  must_fit_in_memory(fmt::format("the lists of '{}'", path), "values", static_cast<double>(values),
                     bytes_a_value);
  return ashlar::parse_json(std::move(text), path);
}

}  // namespace tool
