// Rows of text as a table.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tool {

// Makes columns as wide as they have to be, numbers to the right, the first `left` columns to the left.
// All rows have as many cells as the first.
std::string table(std::vector<std::vector<std::string>> const& rows, std::size_t left = 0);

// A number for readers: six digits, or all before the point if it is large.
std::string readable(double number);

// A share as a number of percent.
std::string percent(double share, int digits = 2);

}  // namespace tool
