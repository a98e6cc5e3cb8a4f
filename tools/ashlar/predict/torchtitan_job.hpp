// The values of a job of torchtitan, by section and key.
#pragma once

#include "files/json_files.hpp"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string>

namespace tool {

// Remembers which values were asked for. Errors name the file.
class torchtitan_job {
 public:
  // Reads a TOML, or arguments: --training.seq_len 8192. A list has a word for each entry; a list in a
  // list, one with commas. Throws usage_error.
  explicit torchtitan_job(std::string const& path);
  // Takes values that were evaluated, by dotted keys: numbers, texts, true and false.
  torchtitan_job(json_text const& source, nlohmann::json const& values);

  // Each reads the first of these names that is there.
  using names = std::initializer_list<char const*>;
  std::string word(names any, std::string const& otherwise) const;
  long long number(names any, long long otherwise) const;
  bool flag(names any, bool otherwise) const;  // true or false

  // Keys that nobody asked for: those that change nothing, and those that may change what is predicted.
  std::string not_read() const;
  std::string not_known() const;
  [[noreturn]] void fail(std::string const& what) const;

 private:
  void must_train() const;
  void read_arguments(std::string const& text);
  void read_toml(std::string const& text);
  void set(std::string const& name, std::string const& value, int line);

  std::string path_;
  std::map<std::string, std::string> values_;
  mutable std::set<std::string, std::less<>> asked_;
};

}  // namespace tool
