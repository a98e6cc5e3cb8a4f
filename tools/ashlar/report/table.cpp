#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tool {

std::string table(std::vector<std::vector<std::string>> const& rows, std::size_t left) {
  if (rows.empty()) return {};
  std::vector<std::size_t> width(rows[0].size(), 0);
  for (auto const& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  std::string text;
  for (auto const& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::string const pad(width[i] - row[i].size(), ' ');
      text += (i == 0 ? "" : "  ") + (i < left ? row[i] + pad : pad + row[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

std::string readable(double number) {
  return std::abs(number) < 1e6 ? fmt::format("{:g}", number) : fmt::format("{:.0f}", number);
}

std::string percent(double share, int digits) {
  std::string const text = fmt::format("{:.{}f}", 100 * share, digits);
  bool const rounds_to_zero = text.find_first_not_of("-0.") == std::string::npos;
  return rounds_to_zero && text[0] == '-' ? text.substr(1) : text;
}

}  // namespace tool
