// The data tables beside the figures: comma-separated values with a line of names.
#pragma once

#include <cstddef>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace systems {

using csv_row = std::map<std::string, std::string>;  // by column

// Fields have neither quotes nor commas. Throws std::runtime_error naming the file and line.
inline std::vector<csv_row> read_csv(std::string const& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + " cannot be read");
  std::vector<std::string> names;
  std::vector<csv_row> rows;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    std::vector<std::string> fields;
    std::istringstream cells(line + ",");
    for (std::string cell; std::getline(cells, cell, ',');) fields.push_back(cell);
    if (names.empty()) {
      names = fields;
      continue;
    }
    if (fields.size() != names.size())
      throw std::runtime_error(path + ", line " + std::to_string(number) + ": "
                               + std::to_string(fields.size()) + " fields, not "
                               + std::to_string(names.size()));
    csv_row& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = fields[i];
  }
  return rows;
}

}  // namespace systems
