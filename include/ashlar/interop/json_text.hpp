// A parsed JSON text that can tell the places of its values.
#pragma once

#include <ashlar/interop/input_error.hpp>

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string>

namespace ashlar {

// A parsed text of JSON. Copies share its values, so places stay known.
struct json_text {
  std::string path;  // the file, or another name for messages; empty: messages give the place alone
  std::string text;
  std::shared_ptr<nlohmann::json const> tree = {};

  // The outermost value. Requires a text that was parsed.
  nlohmann::json const& root() const { return *tree; }
  // "'mine.json', line 3, column 7" for a value within root(), by address; for any other, and
  // without a text, the path alone.
  std::string place_of(nlohmann::json const& value) const;
};

// Throws input_error, with line and column, if the text is not JSON, a number is out of range, or an
// object has a key twice.
json_text parse_json(std::string text, std::string path = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/json_text.ipp>
#endif
