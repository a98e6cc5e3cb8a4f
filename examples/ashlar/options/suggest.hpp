// What someone may have meant.
#pragma once

#include <ashlar/catalog/searched_entries.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

// Insertions, deletions and substitutions from one word to the other. O(|a| |b|).
inline std::size_t edits(std::string_view a, std::string_view b) {
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

// The schedule whose name is nearest, if any is near; else empty.
inline std::string nearest_name(std::string_view wrong) {
  std::string small;
  for (char c : wrong.substr(0, 64))
    small += c == '_' || c == ' ' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  std::string_view best;
  std::size_t fewest = 3;  // more is no typing error
  for (ashlar::catalog::entry const* e : ashlar::catalog::all_entries) {
    std::size_t const n = edits(small, e->name);
    bool const begins = small.size() >= 2 && std::string_view(e->name).starts_with(small);
    if (n >= fewest && !(begins && best.empty())) continue;
    best = e->name;
    fewest = std::min(n, fewest);
  }
  return std::string(best);
}

}  // namespace tool
