// A parsed JSON text that can tell the places of its values.
#pragma once

#include <ashlar/interop/input_error.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace ashlar {

// A parsed text of JSON.
struct json_text {
  std::string path;  // the file, or another name for messages; empty: messages give the place alone
  std::string text;
  nlohmann::json root;

  // "'mine.json', line 3, column 7" for a value within `root`, by address; for any other the path alone.
  std::string place_of(nlohmann::json const& value) const;
};

// Throws input_error, with line and column, if the text is not JSON, a number is out of range, or an
// object has a key twice.
json_text parse_json(std::string text, std::string path = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/json_text.ipp>
#endif
