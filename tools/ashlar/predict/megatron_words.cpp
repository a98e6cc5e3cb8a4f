#include "predict/megatron_words.hpp"

#include "command.hpp"
#include "predict/megatron_names.hpp"
#include "predict/text_lines.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>

namespace tool {

namespace {

constexpr std::string_view blanks = " \t\r\n";

[[noreturn]] void fail(std::string const& path, std::string const& what) {
  throw usage_error(fmt::format("'{}' {}", path, what));
}

// Adds the words of a text, parted by blanks.
void add_parts(std::string_view text, std::vector<std::string>& words) {
  for (std::size_t at = text.find_first_not_of(blanks); at != text.npos;
       at = text.find_first_not_of(blanks, at)) {
    std::size_t const end = std::min(text.find_first_of(blanks, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
}

bool says_a_size(std::vector<std::string> const& words) {
  constexpr std::array sizes{"num_layers",       "hidden_size",       "num_attention_heads",
                             "micro_batch_size", "global_batch_size", "tensor_model_parallel_size",
                             "seq_length",       "vocab_size",        "pipeline_model_parallel_size",
                             "model_name",       "use_mcore_models"};
  return std::any_of(words.begin(), words.end(), [&](std::string const& word) {
    return is_argument(word)
           && std::find(sizes.begin(), sizes.end(), with_underscores(word.substr(0, word.find('='))))
                  != sizes.end();
  });
}

// The words of a file without a command that trains.
std::vector<std::vector<std::string>> all_words(shell_script const& script, std::string const& path) {
  std::vector<std::vector<std::string>> all;
  auto const add = [&](std::vector<std::string> const& words, int line, std::string const& when) {
    std::vector<std::string> const parts = parted(words);
    if (std::none_of(parts.begin(), parts.end(), is_argument)) return;  // files, ports
    if (!when.empty())
      fail(path,
           fmt::format("has arguments in line {}, which are decided by {}: leave those that are meant{}",
                       line, when, how_to_evaluate));
    all.push_back(parts);
  };
  for (std::vector<std::string> const& each : script.assigned()) add(each, 0, "");
  for (shell_command const& command : script.commands()) add(command.words, command.line, command.when);
  return all;
}

bool is_in_names(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

std::string with_underscores(std::string_view name) {
  while (!name.empty() && name.front() == '-') name.remove_prefix(1);
  std::string made(name);
  std::replace(made.begin(), made.end(), '-', '_');
  return made;
}

bool is_argument(std::string_view word) {
  return word.size() > 2 && word.starts_with("--") && begins_name(word[2]);
}

std::vector<std::string> parted(std::vector<std::string> const& words) {
  std::vector<std::string> made;
  for (std::string const& word : words) {
    std::size_t const first = word.find_first_not_of(blanks);
    std::size_t const end = word.find_first_of(" \t\r\n=", first == word.npos ? 0 : first);
    bool const is_several = end != word.npos && word[end] != '=' && is_argument(word.substr(first));
    bool const is_line = word.find(".py ") != word.npos || word.find(".py\n") != word.npos;
    if (is_several || is_line)
      add_parts(word, made);
    else
      made.push_back(word);
  }
  return made;
}

std::vector<std::vector<std::string>> training_words(shell_script const& script,
                                                     std::string const& path) {
  shell_command const* found = nullptr;
  std::vector<std::string> words, of_idle;  // the latter of a program that trains nothing
  for (shell_command const& command : script.commands()) {
    std::vector<std::string> parts = parted(command.words);
    auto const program = std::find_if(parts.begin(), parts.end(),
                                      [](std::string const& word) { return word.ends_with(".py"); });
    if (program != parts.end()) {
      parts.erase(parts.begin(), program);
      if (!says_a_size(parts)) continue;
      if (!may_train(parts.front())) {
        of_idle = parts;
        continue;
      }
      if (!command.when.empty())
        fail(path, fmt::format(
                       "trains in line {}, which is decided by {}: leave the command that runs alone{}",
                       command.line, command.when, how_to_evaluate));
      if (found != nullptr && parts != words)
        fail(path, fmt::format("trains in line {} and in line {}: leave the command that is meant",
                               found->line, command.line));
      found = &command;
      words = parts;
    } else if (found != nullptr && !parts.empty() && is_argument(parts.front())) {
      fail(path,
           fmt::format("has arguments in line {} that no command takes: a remark or the end of a line "
                       "before them ends it",
                       command.line));
    }
  }
  if (found == nullptr && of_idle.empty()) return all_words(script, path);
  return {found != nullptr ? words : of_idle};
}

int line_of_argument(std::string_view text, std::string_view name) {
  int number = 0;
  for (std::string_view const written : lines_of(text)) {
    ++number;
    std::string line(trimmed(written));
    if (line.starts_with('#')) continue;
    std::replace(line.begin(), line.end(), '-', '_');
    for (std::size_t at = line.find(name); at != line.npos; at = line.find(name, at + 1)) {
      std::size_t const end = at + name.size();
      bool const is_key = at == 0 && line.substr(end, 1) == ":",
                 is_word = at >= 2 && line.compare(at - 2, 2, "__") == 0
                           && (at == 2 || !is_in_names(line[at - 3]));
      if (is_key || (is_word && (end == line.size() || !is_in_names(line[end])))) return number;
    }
  }
  return 0;
}

}  // namespace tool
