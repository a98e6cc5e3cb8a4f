// Files of JSON.
#pragma once

#include <ashlar/render/diagnosis.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace tool {

// Whether a text begins as an object of JSON does.
bool holds_json(std::string const& text);

// A file with its text, to say where in it something is.
struct json_text {
  std::string path, text;
  nlohmann::json root;

  // "'mine.json', line 3, column 7" of a value of `root`, this very one; of any other the file alone.
  std::string place_of(nlohmann::json const& value) const;
};

// Throws usage_error, with line and column, for what is no JSON, a number too large to be one, and a key
// that an object has twice.
json_text read_json_text(std::string const& path);

// The same of a text that was read already, from `path`.
json_text json_text_of(std::string text, std::string const& path);

// What readers of such a file ask of its values; usage_errors say where the value stands, its key and
// what must be there.
class json_reader {
 public:
  explicit json_reader(json_text const& source) : source_(source) {}

  [[noreturn]] void fail(nlohmann::json const& value, std::string const& what) const;
  nlohmann::json const& at(nlohmann::json const& object, char const* key) const;
  // What `make` makes of a value; of a rule that it breaks, the place and key, too.
  template <class Make>
  auto made_of(nlohmann::json const& value, char const* key, Make make) const {
    try {
      return make();
    } catch (ashlar::violation const& v) {
      fail(value, "\"" + std::string(key) + "\": " + ashlar::explain(v.why));
    }
  }
  // Of a value that is known by its key.
  double number(nlohmann::json const& value, char const* key, double least, double most) const;
  long long whole(nlohmann::json const& value, char const* key, long long least, long long most) const;
  std::string text(nlohmann::json const& value, char const* key) const;
  nlohmann::json const& list(nlohmann::json const& value, char const* key) const;
  nlohmann::json const& object(nlohmann::json const& value, char const* key) const;

 protected:
  json_text const& source_;
};

}  // namespace tool
