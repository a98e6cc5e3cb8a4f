// Definitions of near_names.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/near_names.hpp>

#include <algorithm>

namespace ashlar {

ASHLAR_INLINE std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t const substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

ASHLAR_INLINE std::string in_small_letters(std::string_view text) {
  std::string small;
  for (char c : text) small += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return small;
}

ASHLAR_INLINE std::string nearest_of(std::string_view wrong, std::vector<std::string> const& names) {
  std::string const small = in_small_letters(wrong.substr(0, 64));
  std::string best;
  std::size_t fewest = small.size() < 4 ? 2 : 3;  // more edits are not a typing error
  for (std::string const& name : names) {
    std::size_t const n = edits(small, in_small_letters(name));
    if (n >= fewest) continue;
    best = name;
    fewest = n;
  }
  return best;
}

ASHLAR_INLINE std::string did_you_mean(std::string_view wrong, std::vector<std::string> const& names) {
  std::string const near = nearest_of(wrong, names);
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

}  // namespace ashlar
