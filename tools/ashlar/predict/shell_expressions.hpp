// The sums of $((...)).
#pragma once

#include <optional>
#include <string_view>

namespace tool {

// The value of whole numbers with + - * / % ** and parentheses; nothing for any other text, for a
// division by 0, and beyond 64 bits.
std::optional<long long> value_of_sum(std::string_view text);

}  // namespace tool
