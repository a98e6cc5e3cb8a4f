// Files of JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace tool {

// Throws usage_error, with line and column, for what is no JSON and for a key that an object has twice.
nlohmann::json read_json(std::string const& path);

}  // namespace tool
