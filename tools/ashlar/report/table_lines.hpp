// The lines of a small table of numbers: cells apart by commas, with or without quotes around them.
#pragma once

#include <string_view>
#include <vector>

namespace tool {

// The text without blanks around.
inline std::string_view trimmed(std::string_view s) {
  auto const begin = s.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return s.substr(begin, s.find_last_not_of(" \t\r") - begin + 1);
}

// The cell as Python's csv module has it: without blanks and quotes around.
inline std::string_view cell_of(std::string_view text) {
  std::string_view const cell = trimmed(text);
  if (cell.size() < 2 || cell.front() != '"' || cell.back() != '"') return cell;
  return trimmed(cell.substr(1, cell.size() - 2));
}

// Calls use(number, cells) for each line, counted from 1, that is not empty and does not begin with #.
template <class Use>
void for_each_line(std::string_view text, Use use) {
  std::vector<std::string_view> cells;
  for (int number = 1; !text.empty(); ++number) {
    auto const end = text.find('\n');
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line[0] == '#') continue;
    cells.clear();
    for (auto comma = line.find(','); comma != std::string_view::npos; comma = line.find(',')) {
      cells.push_back(cell_of(line.substr(0, comma)));
      line.remove_prefix(comma + 1);
    }
    cells.push_back(cell_of(line));
    use(number, cells);
  }
}

}  // namespace tool
