#include "predict/megatron_command.hpp"

#include "command.hpp"
#include "files/files.hpp"
#include "options/number_option.hpp"
#include "predict/text_lines.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace tool {

namespace {

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// "num-layers" and "num_layers" are the same.
std::string with_underscores(std::string_view name) {
  while (!name.empty() && name.front() == '-') name.remove_prefix(1);
  std::string made(name);
  std::replace(made.begin(), made.end(), '-', '_');
  return made;
}

// Words as a shell has them: quotes hold them together, a backslash goes on in the next line, # is a
// remark.
std::vector<std::string> shell_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0, around = 0;  // around: of a variable's value, whose words are words, too
  bool has_word = false;
  auto const end_word = [&] {
    if (has_word) words.push_back(word);
    word.clear();
    has_word = false;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    char const c = text[i];
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      bool const is_variable = word.ends_with('=') && word.front() != '-';
      if (c == around || is_variable) {
        around = is_variable ? c : char{};
        end_word();
      } else {
        quote = c;
        has_word = true;
      }
    } else if (c == '#' && !has_word) {
      while (i < text.size() && text[i] != '\n') ++i;
    } else if (std::string_view(" \t\r\n()\\").find(c) != std::string_view::npos) {
      end_word();
    } else {
      word += c;
      has_word = true;
    }
  }
  end_word();
  return words;
}

bool is_of_name(char c) { return begins_name(c) || (c >= '0' && c <= '9'); }

// $NAME, ${NAME} and ${NAME:-value} are what was set before, or the value; what is not known stays as it
// is.
std::string expanded(std::string_view word, std::map<std::string, std::string> const& variables) {
  std::string made;
  for (std::size_t at = 0; at < word.size();) {
    bool const is_braced = word.substr(at, 2) == "${";
    std::size_t const begin = at + (is_braced ? 2 : 1);
    std::size_t end = begin;
    while (end < word.size() && is_of_name(word[end])) ++end;
    if (word[at] != '$' || end == begin || !begins_name(word[begin])) {
      made += word[at++];
      continue;
    }
    auto const known = variables.find(std::string(word.substr(begin, end - begin)));
    std::size_t const close = is_braced ? std::min(word.find('}', end), word.size() - 1) : end - 1;
    std::string_view otherwise = word.substr(end, is_braced ? close - end : 0);
    bool const has_default = otherwise.substr(0, 2) == ":-";
    if (known != variables.end() && (otherwise.empty() || has_default))
      made += known->second;
    else
      made += has_default ? otherwise.substr(2) : word.substr(at, close + 1 - at);
    at = close + 1;
  }
  return made;
}

// The length of the name in NAME=value; 0 if the word is none of these.
std::size_t assigned_name(std::string_view word) {
  std::size_t end = 0;
  while (end < word.size() && is_of_name(word[end])) ++end;
  return end < word.size() && word[end] == '=' && begins_name(word.front()) ? end : 0;
}

bool is_yaml(std::string_view text) {
  for (std::string_view line : lines_of(text)) {
    line = trimmed(line);
    auto const colon = line.find(':');
    if (colon == line.npos || line.front() == '#') continue;
    std::string_view const name = trimmed(line.substr(0, colon));
    bool const is_name = !name.empty() && name.find_first_of(" =$/") == name.npos;
    if (is_name && (colon + 1 == line.size() || line[colon + 1] == ' ')) return true;
  }
  return false;
}

// Arguments with several words; what stands behind others is none of theirs.
bool takes_many(std::string_view name) {
  return name == "recompute_modules" || name == "offload_modules";
}

}  // namespace

std::string with_hyphens(std::string_view name) {
  std::string made = "--" + std::string(name);
  std::replace(made.begin(), made.end(), '_', '-');
  return made;
}

megatron_command::megatron_command(std::string const& path) : path_(path) {
  std::string const text = read_text(path);
  if (is_yaml(text))
    read_yaml(text);
  else
    read_shell(text);
  name_as_arguments();
  if (all_.empty()) fail("has no arguments of Megatron-LM, as --num-layers 32");
}

bool megatron_command::has(char const* name) {
  asked_.insert(name);
  auto const at = all_.find(name);
  return at != all_.end() && at->second != "false" && at->second != "False" && at->second != "null"
         && at->second != "None";
}

std::string megatron_command::word(char const* name, std::string const& otherwise) {
  return has(name) ? all_.at(name) : otherwise;
}

long long megatron_command::number(char const* name, long long otherwise) {
  if (!has(name)) return otherwise;
  return number_within<long long>(fmt::format("'{}': {}", path_, with_hyphens(name)), all_.at(name), 0,
                                  largest_framework_size);
}

long long megatron_command::number(char const* name) {
  if (!has(name)) fail(fmt::format("lacks {}", with_hyphens(name)));
  return number(name, 0);
}

std::string megatron_command::not_asked() const {
  std::string list;
  for (auto const& [name, value] : all_)
    if (asked_.find(name) == asked_.end()) list += (list.empty() ? "" : " ") + with_hyphens(name);
  return list;
}

void megatron_command::fail(std::string const& what) const {
  throw usage_error(fmt::format("'{}' {}", path_, what));
}

void megatron_command::read_yaml(std::string_view text) {
  for (std::string_view line : lines_of(text)) {
    if (auto const remark = line.find(" #"); remark != line.npos) line = line.substr(0, remark);
    line = trimmed(line);
    auto const colon = line.find(':');
    if (colon == line.npos || line.front() == '#') continue;
    std::string_view const value = unquoted(line.substr(colon + 1));
    if (!value.empty()) all_[with_underscores(unquoted(line.substr(0, colon)))] = value;
  }
}

void megatron_command::name_as_arguments() {
  constexpr std::array same{std::pair{"num_moe_experts", "num_experts"},
                            std::pair{"gated_linear_unit", "swiglu"}};
  constexpr std::array opposite{
      std::pair{"share_embeddings_and_output_weights", "untie_embeddings_and_output_weights"},
      std::pair{"add_bias_linear", "disable_bias_linear"}};
  bool has_fields = false;  // of Megatron-Core, not arguments
  for (auto const& [field, argument] : same)
    if (auto const at = all_.find(field); at != all_.end()) {
      all_[argument] = at->second;
      all_.erase(field);
      has_fields = true;
    }
  for (auto const& [field, argument] : opposite)
    if (auto const at = all_.find(field); at != all_.end()) {
      if (at->second == "false" || at->second == "False") all_[argument] = "";
      all_.erase(field);
      has_fields = true;
    }
  if (has_fields && all_.count("num_query_groups") > 0) all_["group_query_attention"] = "";
}

void megatron_command::read_shell(std::string_view text) {
  std::vector<std::string> words = shell_words(text);
  std::map<std::string, std::string> variables;
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = expanded(words[i], variables);
    std::size_t const name = assigned_name(words[i]);
    if (name == 0) continue;
    std::string value = words[i].substr(name + 1);
    if (value.empty() && i + 1 < words.size() && words[i + 1].front() != '-')
      value = words[i + 1];  // it was in quotes
    variables[words[i].substr(0, name)] = value;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].size() < 3 || words[i].compare(0, 2, "--") != 0 || !begins_name(words[i][2])) continue;
    auto const equals = words[i].find('=');
    std::string const name = with_underscores(words[i].substr(0, equals));
    std::string& value = all_[name];
    value = equals == std::string::npos ? "" : words[i].substr(equals + 1);
    if (equals == std::string::npos && i + 1 < words.size() && words[i + 1].compare(0, 2, "--") != 0)
      value = words[i + 1];
    for (std::size_t j = i + 2; takes_many(name) && j < words.size() && words[j].front() != '-'; ++j)
      value += " " + words[j];
  }
}

}  // namespace tool
