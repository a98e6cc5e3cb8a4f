// The keys of a model's config.json: null means absent, every key has to be asked for or to be known to
// change neither size nor cost.
#pragma once

#include "files/json_files.hpp"

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

class model_config {
 public:
  // `defaults`: values for keys that the file leaves out. `known`: all keys that transformers reads for
  // the type, with their defaults. Both may be null.
  model_config(json_text const& source, nlohmann::json const& object, nlohmann::json const* defaults,
               nlohmann::json const* known = nullptr)
      : read_(source), object_(object), defaults_(defaults), known_(known) {}

  // `own`: a type whose code comes with its weights, from types_of_own_code.json. That code reads its
  // own keys alone, maybe by other names; `quiet` are keys that change no model.
  model_config(json_text const& source, nlohmann::json const& object, nlohmann::json const& own,
               nlohmann::json const& quiet)
      : read_(source),
        object_(object),
        defaults_(&own.at("keys")),
        known_(defaults_),
        own_(&own),
        quiet_(&quiet) {}

  // The first of these keys that is there counts; each has been asked for.
  using keys = std::initializer_list<char const*>;

  // Throws usage_error where it is absent or no whole number from 1 on. A list of equal numbers, one for
  // each layer, counts as that number.
  double size(keys any) const;
  // 0 and false count as absent.
  double size_or(keys any, double otherwise) const;
  long long whole_or(char const* key, long long otherwise) const;  // may be negative
  bool is_text(char const* key) const;
  double real(char const* key) const;  // throws usage_error where it is no number
  bool flag(keys any, bool otherwise) const;
  bool flag(keys any) const;  // throws usage_error where it is absent
  std::string word(keys any, std::string const& otherwise) const;
  std::vector<std::string> words(keys any) const;  // empty: absent
  std::vector<long long> numbers(keys any) const;  // likewise
  bool has(keys any) const;                        // in the file or by default
  bool gives(char const* key) const;               // in the file
  model_config part(char const* key) const;        // an object; throws usage_error where it is none
  std::vector<model_config> parts(char const* key) const;  // a list of them

  // Returns the keys of the file that transformers ignores for the type, and so does the reader. Throws
  // usage_error for the first other key that was not asked for and may say something of size and cost,
  // and for an ignored one that says that the model is another than its type.
  std::vector<std::string> must_be_understood(std::string const& type) const;

  [[noreturn]] void fail(std::string const& what) const { read_.fail(object_, what); }

 private:
  model_config(json_reader const& read, nlohmann::json const& object) : read_(read), object_(object) {}

  nlohmann::json const* find(keys any, char const** found) const;
  // The name of a key in the file; null: the type's own code has no such key.
  char const* own_name(char const* key) const;
  void must_be_understood_by_own_code(std::string const& type) const;
  [[noreturn]] void fail_for_lack_of(char const* key) const;

  json_reader read_;
  nlohmann::json const& object_;
  nlohmann::json const* defaults_ = nullptr;
  nlohmann::json const* known_ = nullptr;
  nlohmann::json const* own_ = nullptr;
  nlohmann::json const* quiet_ = nullptr;
  mutable std::vector<std::string_view> asked_;
};

}  // namespace tool
