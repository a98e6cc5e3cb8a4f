// Files of JSON that hold one object.
#pragma once

#include "command.hpp"
#include "json_files.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool {

// A JSON object whose every key has to be asked for: a slip of the pen is not passed over.
class json_object {
 public:
  explicit json_object(std::string path) : path_(std::move(path)) {
    object_ = read_json(path_);
    if (!object_.is_object()) fail("is not a JSON object");
  }

  // An object inside a file.
  json_object(std::string path, nlohmann::json object)
      : path_(std::move(path)), object_(std::move(object)) {
    if (!object_.is_object()) fail("is not a JSON object");
  }

  std::string word(char const* key, std::string const& otherwise) {
    nlohmann::json const* const value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_string()) fail(fmt::format("gives no text for \"{}\"", key));
    return value->get<std::string>();
  }

  // Throws usage_error unless it is there, at least `least` and finite.
  double real(char const* key, double least, std::optional<double> otherwise = {}) {
    nlohmann::json const* const value = find(key);
    if (value == nullptr && otherwise) return *otherwise;
    if (value == nullptr) fail(fmt::format("lacks \"{}\"", key));
    if (!value->is_number() || !(value->get<double>() >= least) || !(value->get<double>() <= 1e18))
      fail(fmt::format("must give a number of at least {} for \"{}\"", least, key));
    return value->get<double>();
  }

  bool flag(char const* key, bool otherwise) {
    nlohmann::json const* const value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) fail(fmt::format("gives neither true nor false for \"{}\"", key));
    return value->get<bool>();
  }

  bool has(char const* key) const { return object_.contains(key); }

  long long number(char const* key, long long least, long long most, long long otherwise = -1) {
    nlohmann::json const* const value = find(key);
    if (value == nullptr && otherwise >= 0) return otherwise;
    if (value == nullptr) fail(fmt::format("lacks \"{}\"", key));
    return integer(*value, key, least, most);
  }

  std::vector<int> numbers(char const* key, long long least, long long most) {
    std::vector<int> all;
    for (nlohmann::json const& value : list(key))
      all.push_back(static_cast<int>(integer(value, key, least, most)));
    if (all.empty()) fail(fmt::format("needs a number in \"{}\"", key));
    return all;
  }

  // An optional list may be empty or lacking.
  std::vector<std::string> words(char const* key, bool optional) {
    std::vector<std::string> all;
    if (optional && !object_.contains(key)) return all;
    for (nlohmann::json const& value : list(key)) {
      if (!value.is_string()) fail(fmt::format("has something else than names in \"{}\"", key));
      all.push_back(value.get<std::string>());
    }
    if (all.empty() && !optional) fail(fmt::format("needs a name in \"{}\"", key));
    return all;
  }

  // A list of objects, not empty.
  std::vector<json_object> objects(char const* key) {
    std::vector<json_object> all;
    for (nlohmann::json const& value : list(key))
      all.emplace_back(fmt::format("{}, \"{}\" {}", path_, key, all.size()), value);
    if (all.empty()) fail(fmt::format("needs an object in \"{}\"", key));
    return all;
  }

  void must_be_all() const {
    for (auto const& [key, value] : object_.items())
      if (std::find(asked_.begin(), asked_.end(), key) == asked_.end())
        fail(fmt::format("has \"{}\", which means nothing here", key.substr(0, 64)));
  }

  [[noreturn]] void fail(std::string const& what) const {
    throw usage_error(fmt::format("'{}' {}", path_, what));
  }

 private:
  nlohmann::json const* find(char const* key) {
    asked_.emplace_back(key);
    auto const found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  nlohmann::json const& list(char const* key) {
    nlohmann::json const* const value = find(key);
    if (value == nullptr || !value->is_array()) fail(fmt::format("needs a list \"{}\"", key));
    return *value;
  }
  long long integer(nlohmann::json const& value, char const* key, long long least,
                    long long most) const {
    if (!value.is_number_integer() || value.get<double>() < static_cast<double>(least)
        || value.get<double>() > static_cast<double>(most))
      fail(fmt::format("must give whole numbers from {} to {} for \"{}\"", least, most, key));
    return value.get<long long>();
  }

  std::string path_;
  nlohmann::json object_;
  std::vector<std::string> asked_;
};

}  // namespace tool
