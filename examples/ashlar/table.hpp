// Columns as wide as they have to be.
#pragma once

#include <string>
#include <vector>

namespace tool {

// Prints rows of equally many cells. Numbers go to the right; the first `left` columns to the left.
void print_table(std::vector<std::vector<std::string>> const& rows, std::size_t left = 0);

}  // namespace tool
