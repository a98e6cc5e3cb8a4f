// Names from files and command lines in what the tool prints for programs.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace tool {

// JSON as text; a byte of a name that is no UTF-8 becomes U+FFFD.
template <class Json>
std::string dumped(Json const& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// In quotes, as RFC 4180 has fields of CSV.
inline std::string csv_quoted(std::string_view raw) {
  std::string field = "\"";
  for (char const c : raw) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + "\"";
}

// In quotes only where it has to be.
inline std::string csv_field(std::string_view raw) {
  return raw.find_first_of(",\"\r\n") == std::string_view::npos ? std::string(raw) : csv_quoted(raw);
}

}  // namespace tool
