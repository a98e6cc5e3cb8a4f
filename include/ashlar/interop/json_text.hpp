// A text of JSON with what it holds, to say where in it something is.
#pragma once

#include <ashlar/interop/input_error.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace ashlar {

// A parsed text of JSON.
struct json_text {
  std::string
      path;  // the file, or whatever messages shall call the text; empty: they say the place alone
  std::string text;
  nlohmann::json root;

  // "'mine.json', line 3, column 7" of a value of `root`, this very one; of any other the path alone.
  std::string place_of(nlohmann::json const& value) const;
};

// Throws input_error, with line and column, for what is no JSON, a number too large to be one, and a key
// that an object has twice.
json_text parse_json(std::string text, std::string path = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/json_text.ipp>
#endif
