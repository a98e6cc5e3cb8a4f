// Names regardless of case, and what someone may have meant.
#pragma once

#include "options/suggest.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tool {

inline std::string in_small_letters(std::string_view text) {
  std::string small;
  for (char c : text) small += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return small;
}

// The name that is nearest to a wrong one, if any is near; else empty.
inline std::string nearest_of(std::string_view wrong, std::vector<std::string> const& names) {
  std::string const small = in_small_letters(wrong.substr(0, 64));
  std::string best;
  std::size_t fewest = small.size() < 4 ? 2 : 3;  // more is no typing error
  for (std::string const& name : names) {
    std::size_t const n = edits(small, in_small_letters(name));
    if (n >= fewest) continue;
    best = name;
    fewest = n;
  }
  return best;
}

// Whether an option that takes a name or a file is meant as a file.
inline bool is_path(std::string const& text) {
  std::error_code ignored;  // as of a name that is too long
  return text == "-" || text.find('/') != std::string::npos || text.ends_with(".json")
         || text.ends_with(".csv") || std::filesystem::exists(text, ignored);
}

// "; did you mean 'H100'?", or nothing.
inline std::string did_you_mean(std::string_view wrong, std::vector<std::string> const& names) {
  std::string const near = nearest_of(wrong, names);
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

}  // namespace tool
