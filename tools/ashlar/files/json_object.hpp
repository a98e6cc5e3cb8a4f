// Files of JSON that hold one object.
#pragma once

#include "files/json_files.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool {

// A JSON object whose every key has to be asked for, so that a misspelt key is an error.
class json_object {
 public:
  explicit json_object(std::string const& path) : json_object(read_json_text(path)) {}
  explicit json_object(json_text text)
      : json_object(std::make_shared<json_text const>(std::move(text)), nullptr) {}

  std::string word(char const* key, std::string const& otherwise) {
    nlohmann::json const* const value = find(key);
    return value == nullptr ? otherwise : read_.text(*value, key);
  }

  // Throws usage_error unless it is there, at least `least` and finite.
  double real(char const* key, double least, std::optional<double> otherwise = {}) {
    nlohmann::json const* const value = find(key);
    if (value == nullptr && otherwise) return *otherwise;
    return read_.number(read_.at(*object_, key), key, least, 1e18);
  }

  bool flag(char const* key, bool otherwise) {
    nlohmann::json const* const value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) read_.fail(*value, fmt::format("\"{}\" must be true or false", key));
    return value->get<bool>();
  }

  bool has(char const* key) const { return object_->contains(key); }

  long long number(char const* key, long long least, long long most, long long otherwise = -1) {
    nlohmann::json const* const value = find(key);
    if (value == nullptr && otherwise >= 0) return otherwise;
    return read_.whole(read_.at(*object_, key), key, least, most);
  }

  std::vector<int> numbers(char const* key, long long least, long long most) {
    std::vector<int> all;
    for (nlohmann::json const& value : list(key))
      all.push_back(static_cast<int>(read_.whole(value, key, least, most)));
    if (all.empty()) read_.fail(list(key), fmt::format("\"{}\" must have a number", key));
    return all;
  }

  // An optional list may be empty or lacking.
  std::vector<std::string> words(char const* key, bool optional) {
    std::vector<std::string> all;
    if (optional && !object_->contains(key)) return all;
    for (nlohmann::json const& value : list(key)) all.push_back(read_.text(value, key));
    if (all.empty() && !optional) read_.fail(list(key), fmt::format("\"{}\" must have a name", key));
    return all;
  }

  // A list of objects, not empty.
  std::vector<json_object> objects(char const* key) {
    std::vector<json_object> all;
    for (nlohmann::json const& value : list(key)) all.push_back({source_, &value});
    if (all.empty()) read_.fail(list(key), fmt::format("\"{}\" must have an object", key));
    return all;
  }

  void must_be_all() const {
    for (auto const& [key, value] : object_->items())
      if (std::find(asked_.begin(), asked_.end(), key) == asked_.end())
        read_.fail(value, fmt::format("\"{}\" means nothing here", key.substr(0, 64)));
  }

  // Throws an error about the object as a whole.
  [[noreturn]] void fail(std::string const& what) const { read_.fail(*object_, what); }

 private:
  // Without an object, it is all that the file holds.
  json_object(std::shared_ptr<json_text const> source, nlohmann::json const* object)
      : source_(std::move(source)),
        object_(object == nullptr ? &source_->root() : object),
        read_(*source_) {
    if (!object_->is_object()) fail("is not a JSON object");
  }

  nlohmann::json const* find(char const* key) {
    asked_.emplace_back(key);
    auto const found = object_->find(key);
    return found == object_->end() ? nullptr : &*found;
  }
  nlohmann::json const& list(char const* key) {
    asked_.emplace_back(key);
    return read_.list(read_.at(*object_, key), key);
  }

  std::shared_ptr<json_text const> source_;
  nlohmann::json const* object_;
  json_reader read_;
  std::vector<std::string> asked_;
};

}  // namespace tool
