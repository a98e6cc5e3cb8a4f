// Files of JSON.
#pragma once

#include <ashlar/interop/json_reader.hpp>
#include <ashlar/interop/json_text.hpp>

#include <string>

namespace tool {

using ashlar::json_reader;
using ashlar::json_text;

// Whether a text begins as an object of JSON does.
bool holds_json(std::string const& text);

// Throws usage_error, with line and column, for text that is no JSON, a number out of range, or a key
// that an object has twice.
json_text read_json_text(std::string const& path);

// Reads what Python wrote, too: its numbers Infinity, -Infinity and NaN, which JSON does not have,
// become texts.
json_text read_python_json(std::string const& path);

// Parses a text that was read already, from `path`.
json_text json_text_of(std::string text, std::string const& path);

}  // namespace tool
