// The arguments of a run of Megatron-LM, each with its value; a flag has none.
#pragma once

#include "predict/framework_files.hpp"

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace tool {

// As it is written: --num-layers.
std::string with_hyphens(std::string_view name);

// Remembers which arguments were asked for. Errors name the file.
class megatron_command {
 public:
  // A shell line, or a YAML of arguments. Throws usage_error for a file that has none.
  explicit megatron_command(std::string const& path);

  // Names have underscores. What is set to false or nothing is not there.
  bool has(char const* name);
  std::string word(char const* name, std::string const& otherwise = "");
  long long number(char const* name, long long otherwise);
  long long number(char const* name);  // throws usage_error where it is not there
  void ignore(std::initializer_list<char const*> names) { asked_.insert(names.begin(), names.end()); }

  std::string not_asked() const;
  [[noreturn]] void fail(std::string const& what) const;

 private:
  void read_yaml(std::string_view text);
  // Fields of Megatron-Core's configuration as the arguments that say the same.
  void name_as_arguments();
  void read_shell(std::string_view text);

  std::string path_;
  std::map<std::string, std::string> all_;
  std::set<std::string> asked_;
};

}  // namespace tool
