// Definitions of json_reader.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/json_reader.hpp>
#include <ashlar/interop/numbers.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>

namespace ashlar {

ASHLAR_INLINE void json_reader::fail(nlohmann::json const& value, std::string const& what) const {
  throw input_error(source_.place_of(value) + ": " + what);
}

ASHLAR_INLINE nlohmann::json const& json_reader::at(nlohmann::json const& object,
                                                    char const* key) const {
  if (!object.is_object() || !object.contains(key)) fail(object, "lacks \"" + std::string(key) + "\"");
  return object[key];
}

ASHLAR_INLINE double json_reader::number(nlohmann::json const& value, char const* key, double least,
                                         double most) const {
  if (!value.is_number() || !(value >= least && value <= most))
    fail(value, "\"" + std::string(key) + "\" must be a number from " + number_words(least) + " to "
                    + number_words(most));
  return value.get<double>();
}

ASHLAR_INLINE long long json_reader::whole(nlohmann::json const& value, char const* key, long long least,
                                           long long most) const {
  // Numbers above the signed range are stored as unsigned.
  bool const is_far = value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX;
  if (!value.is_number_integer() || is_far || value < least || value > most)
    fail(value, "\"" + std::string(key) + "\" must be a whole number from " + std::to_string(least)
                    + " to " + std::to_string(most));
  return value.get<long long>();
}

ASHLAR_INLINE std::string json_reader::text(nlohmann::json const& value, char const* key) const {
  if (!value.is_string()) fail(value, "\"" + std::string(key) + "\" must be a text");
  return value.get<std::string>();
}

ASHLAR_INLINE nlohmann::json const& json_reader::list(nlohmann::json const& value,
                                                      char const* key) const {
  if (!value.is_array()) fail(value, "\"" + std::string(key) + "\" must be a list");
  return value;
}

ASHLAR_INLINE nlohmann::json const& json_reader::object(nlohmann::json const& value,
                                                        char const* key) const {
  if (!value.is_object()) fail(value, "\"" + std::string(key) + "\" must be an object");
  return value;
}

}  // namespace ashlar
