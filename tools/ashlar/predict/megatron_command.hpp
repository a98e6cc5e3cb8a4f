// The arguments of a run of Megatron-LM, each with its value; a flag has none.
#pragma once

#include "predict/framework_files.hpp"
#include "predict/shell_script.hpp"

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace tool {

// The argument as it is written: --num-layers.
std::string with_hyphens(std::string_view name);

// Remembers which arguments were asked for. Errors name the file.
class megatron_command {
 public:
  // Reads a shell script, or a YAML of arguments. Throws usage_error if the file has none, or trains no
  // decoder that is predicted.
  explicit megatron_command(std::string const& path);
  // Takes arguments that were evaluated: numbers, texts, or true for a flag.
  megatron_command(json_text const& source, nlohmann::json const& values);

  // Names have underscores. Arguments set to false or nothing are not there.
  bool has(char const* name);
  // Whether the file gives a value, false included.
  bool says(char const* name);
  // Whether they are fields of Megatron-Core's configuration, as Megatron-Bridge has them.
  bool has_fields() const { return has_fields_; }
  // The file that takes them, without folders; empty if none is known.
  std::string const& program() const { return program_; }
  // Whether they are those of a command, for which Megatron-LM's defaults hold.
  bool is_of_command() const { return script_.has_value(); }
  // These throw usage_error for a value that the file leaves open: that of a branch, say.
  std::string word(char const* name, std::string const& otherwise = "");
  long long number(char const* name, long long otherwise);
  long long number(char const* name);  // throws usage_error where it is not there
  // Gives an argument in place of the file, which may leave it open.
  void set(char const* name, std::string value);
  void ignore(std::initializer_list<char const*> names) { asked_.insert(names.begin(), names.end()); }

  // Arguments that change nothing here; and those that may change what is predicted, with words that
  // Megatron-LM's parser does not take among them.
  std::string not_read() const;
  std::string not_known();
  // Refuses unknown arguments that tell of a model, and layers that a function makes.
  void refuse_unknown_layers();
  [[noreturn]] void fail(std::string const& what) const;

 private:
  void finish();
  void read_yaml(std::string_view text);
  // Names fields of Megatron-Core's configuration by the arguments that say the same.
  void name_as_arguments();
  void read_shell(std::string_view text);
  void read_arguments(std::vector<std::string> const& words);
  void refuse_others() const;
  // " in line 12" for an argument of a file.
  std::string place_of(std::string const& name) const;
  bool is_value(std::string const& word) const;
  bool says_nothing(std::string const& word) const;
  void note_open(std::string const& word);

  std::string path_, text_;
  std::optional<shell_script> script_;
  std::string program_;
  bool has_fields_ = false;
  std::map<std::string, std::string> all_;
  std::set<std::string> asked_, valued_, twice_;
  std::set<std::string> unknown_;  // that Megatron-LM's parser does not have
  std::vector<std::string> open_;  // words whose meaning is not known
};

}  // namespace tool
