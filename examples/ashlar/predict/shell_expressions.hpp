// The sums of $((...)).
#pragma once

#include <optional>
#include <string_view>

namespace tool {

// Of whole numbers with + - * / % ** and parentheses; nothing for any other text, for what is divided by
// 0, and beyond 64 bits.
std::optional<long long> value_of_sum(std::string_view text);

}  // namespace tool
