// Checks of the values that readers of JSON expect.
#pragma once

#include <ashlar/core/diagnosis.hpp>
#include <ashlar/interop/json_text.hpp>
#include <ashlar/render/diagnosis.hpp>

#include <string>

namespace ashlar {

// A reader whose input_errors give the value's place, its key and the expected value.
class json_reader {
 public:
  // Refers to the text.
  explicit json_reader(json_text const& source) : source_(source) {}

  // Throws input_error with the place of the value; and returns the value of a key, which must exist.
  [[noreturn]] void fail(nlohmann::json const& value, std::string const& what) const;
  nlohmann::json const& at(nlohmann::json const& object, char const* key) const;
  // Calls `make`; adds the place and key to violations.
  template <class Make>
  auto made_of(nlohmann::json const& value, char const* key, Make make) const {
    try {
      return make();
    } catch (violation const& v) {
      fail(value, "\"" + std::string(key) + "\": " + explain(v.why));
    }
  }
  // These convert the value of a key.
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
