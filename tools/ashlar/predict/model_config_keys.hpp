// Keys of a model's file that say nothing, or that it is of another kind.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string_view>

namespace tool {

// Whether a key says nothing of size and cost.
bool says_nothing(std::string_view key);

// Whether a key of other kinds of models has a value. Where a type's own code ignores it, code beside
// the file may not.
bool is_foreign(std::string_view key, nlohmann::json const& value);

}  // namespace tool
