// Files of JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace tool {

// Throws usage_error, with line and column, for what is no JSON and for a key that an object has twice.
nlohmann::json read_json(std::string const& path);

// Whether a text begins as an object of JSON does.
bool holds_json(std::string const& text);

// The same of a text that was read already, from `path`.
nlohmann::json parse_json(std::string const& text, std::string const& path);

// A file with its text, to say where in it something is.
struct json_text {
  std::string path, text;
  nlohmann::json root;

  // "'mine.json', line 3, column 7" of a value of `root`, this very one; of any other the file alone.
  std::string place_of(nlohmann::json const& value) const;
};

// What readers of such a file ask of its values; usage_errors say where the value stands.
class json_reader {
 protected:
  explicit json_reader(json_text const& source) : source_(source) {}

  [[noreturn]] void fail(nlohmann::json const& value, std::string const& what) const;
  nlohmann::json const& at(nlohmann::json const& object, char const* key) const;
  // Of a value that is known by its key.
  double number(nlohmann::json const& value, char const* key, double least, double most) const;

  json_text const& source_;
};

}  // namespace tool
