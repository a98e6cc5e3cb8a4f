// What readers of JSON ask of its values.
#pragma once

#include <ashlar/core/diagnosis.hpp>
#include <ashlar/interop/json_text.hpp>
#include <ashlar/render/diagnosis.hpp>

#include <string>

namespace ashlar {

// input_errors say where the value stands, its key and what must be there.
class json_reader {
 public:
  // Refers to the text.
  explicit json_reader(json_text const& source) : source_(source) {}

  // Throws input_error with the place of the value; and the value of a key, which must be there.
  [[noreturn]] void fail(nlohmann::json const& value, std::string const& what) const;
  nlohmann::json const& at(nlohmann::json const& object, char const* key) const;
  // What `make` makes of a value; of a rule that it breaks, the place and key, too.
  template <class Make>
  auto made_of(nlohmann::json const& value, char const* key, Make make) const {
    try {
      return make();
    } catch (violation const& v) {
      fail(value, "\"" + std::string(key) + "\": " + explain(v.why));
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

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/json_reader.ipp>
#endif
