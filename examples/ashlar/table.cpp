#include "table.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace tool {

void print_table(std::vector<std::vector<std::string>> const& rows, std::size_t left) {
  if (rows.empty()) return;
  std::vector<std::size_t> width(rows[0].size(), 0);
  for (auto const& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  for (auto const& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      char const* const gap = i == 0 ? "" : "  ";
      if (i < left)
        fmt::print("{}{:<{}}", gap, row[i], width[i]);
      else
        fmt::print("{}{:>{}}", gap, row[i], width[i]);
    }
    fmt::print("\n");
  }
}

}  // namespace tool
