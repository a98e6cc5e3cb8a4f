// Rows of text as a table.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace tool {

// Columns are as wide as they have to be, numbers to the right. All rows have as many cells as the
// first.
inline std::string table(std::vector<std::vector<std::string>> const& rows) {
  std::vector<std::size_t> width(rows[0].size(), 0);
  for (auto const& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  std::string text;
  for (auto const& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      text += fmt::format("{}{:>{}}", i == 0 ? "" : "  ", row[i], width[i]);
    text += '\n';
  }
  return text;
}

}  // namespace tool
