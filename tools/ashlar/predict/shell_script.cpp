#include "predict/shell_script.hpp"

#include "command.hpp"
#include "options/number_option.hpp"
#include "predict/shell_words.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace tool {

namespace {

constexpr int most_depth = 100;

// The length of the name in NAME= or NAME+=; 0 if a word begins otherwise.
std::size_t assigned_name(std::string_view word) {
  std::size_t end = 0;
  while (end < word.size() && is_of_name(word[end])) ++end;
  if (end == 0 || !begins_name(word[0])) return 0;
  std::string_view const rest = word.substr(end);
  return rest.starts_with('=') || rest.starts_with("+=") ? end : 0;
}

// Whether a sum as ((NAME += 2)) changes the name that it has from `begin` to `end`.
bool is_changed(std::string_view sum, std::size_t begin, std::size_t end) {
  std::string_view const before = sum.substr(0, begin);
  if (before.ends_with("++") || before.ends_with("--")) return true;
  std::string_view rest = sum.substr(end);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  if (rest.starts_with("++") || rest.starts_with("--")) return true;
  std::size_t const sign = rest.find_first_not_of("+-*/%&|^<>");
  bool const compares = rest.starts_with("<=") || rest.starts_with(">=") || rest.starts_with("==");
  return sign != rest.npos && rest[sign] == '=' && !compares && rest.substr(sign, 2) != "==";
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

shell_script::shell_script(std::string path, std::string_view text) : path_(std::move(path)) {
  struct region {
    std::string_view word;
    int line;
  };
  std::vector<region> regions;
  std::vector<shell_token> command;
  std::string behind;  // an operator that decides whether the next command runs
  bool tests = false;  // whether a command asks something
  auto const end_command = [&](int line) {
    if (command.empty()) return;
    std::string when;
    if (!regions.empty())
      when = fmt::format("`{}` of line {}", regions.back().word, regions.back().line);
    else if (!behind.empty())
      when = fmt::format("`{}` of line {}", behind, line);
    tests = is_one_of(command[0].text, {"[", "test"}) || command[0].text.starts_with("[[")
            || command[0].text.starts_with("((");
    run(command, when);
    command.clear();
  };
  std::vector<shell_token> const tokens = shell_tokens(text);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    shell_token const& t = tokens[i];
    auto const is_next = [&](std::size_t k, char const* sign) {
      return i + k < tokens.size() && tokens[i + k].text == sign;
    };
    if (!t.is_word) {
      if (t.text == "(" && command.size() == 1 && is_next(1, ")")) {  // NAME() { ... }
        command.clear();
        ++i;
        continue;
      }
      end_command(t.line);
      if (t.text == "(") regions.push_back({"(", t.line});
      if (t.text == ")" && !regions.empty() && regions.back().word == "(") regions.pop_back();
      if (t.text == "||" || (t.text == "&&" && tests && behind.empty()))
        behind = t.text;
      else if (t.text != "&&" && t.text != "|" && (i == 0 || tokens[i - 1].is_word))
        behind.clear();
      continue;
    }
    if (!command.empty()) {
      command.push_back(t);
      continue;
    }
    static constexpr std::array begins{"if", "case", "for", "while", "until", "select", "{"};
    static constexpr std::array ends{"fi", "esac", "done", "}"};
    if (auto const found = std::find(begins.begin(), begins.end(), t.text); found != begins.end()) {
      regions.push_back({*found, t.line});
    } else if (std::find(ends.begin(), ends.end(), t.text) != ends.end()) {
      if (!regions.empty()) regions.pop_back();
    } else if (t.text == "function") {
      ++i;
      if (is_next(1, "(")) i += 2;
    } else if (!is_one_of(t.text, {"then", "else", "elif", "do", "!", "time"})) {
      command.push_back(t);
    }
  }
  end_command(tokens.empty() ? 1 : tokens.back().line);
}

void shell_script::fail(int line, std::string const& what) const {
  throw usage_error(fmt::format("'{}', line {}: {}", path_, line, what));
}

void shell_script::assign(shell_token const& token, std::string const& when) {
  std::size_t const length = assigned_name(token.text);
  if (length == 0) return;  // `export NAME`
  std::string const name = token.text.substr(0, length);
  bool const appends = token.text[length] == '+';
  std::string_view const raw = std::string_view(token.text).substr(length + (appends ? 2 : 1));
  values made;
  if (token.is_list) {
    for (std::string const& item : token.items)
      for (std::string& each : expanded(item, token.line)) made.push_back(std::move(each));
  } else {
    made.emplace_back();  // blanks part no words here
    for (std::string const& each : expanded(raw, token.line))
      made.back() += (made.back().empty() ? "" : " ") + each;
  }
  if (!when.empty()) {
    std::string const sign = mark("$" + name, fmt::format("is decided by {}", when), token.line);
    unknown_.back().words = std::move(made);
    made = {sign};
  }
  assigned_.push_back(made);
  values& value = variables_[name];
  if (!appends)
    value = std::move(made);
  else if (token.is_list || value.empty())
    value.insert(value.end(), made.begin(), made.end());
  else
    value.front() += (when.empty() ? "" : " ") + made.front();
}

void shell_script::forget_names(shell_token const& token, std::string_view verb) {
  std::string_view const text = token.text;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_of_name(text[end])) ++end;
    std::string const name(text.substr(at, end - at));
    bool const is_set = verb != "((" || is_changed(text, at, end);
    if (end > at && begins_name(text[at]) && is_set)
      variables_[name] = {mark("$" + name, fmt::format("is set by `{}`", verb), token.line)};
    at = std::max(end, at + 1);
  }
}

void shell_script::run(std::vector<shell_token> const& command, std::string const& when) {
  is_decided_ = !when.empty();
  std::string_view const verb = command[0].text;
  bool const declares = is_one_of(verb, {"export", "declare", "typeset", "local", "readonly"});
  bool const prints_to = verb == "printf" && command.size() > 2 && command[1].text == "-v";
  if (prints_to) return forget_names(command[2], verb);
  if (verb.starts_with("((")) return forget_names(command[0], "((");
  if (is_one_of(verb, {"let", "read", "mapfile", "readarray", "unset"})) {
    for (std::size_t i = 1; i < command.size(); ++i) forget_names(command[i], verb);
    return;
  }
  std::size_t first = 0;  // behind what is set
  while (first < command.size() && (declares || assigned_name(command[first].text) > 0)) ++first;
  if (first == command.size()) {
    for (shell_token const& each : command) assign(each, when);
    return;
  }
  shell_command made{.line = command[first].line, .words = {}, .when = when};
  for (std::size_t i = first; i < command.size(); ++i)
    for (std::string& each : expanded(command[i].text, command[i].line))
      made.words.push_back(std::move(each));
  commands_.push_back(std::move(made));
}

std::string shell_script::mark(std::string_view text, std::string const& why, int line,
                               bool may_be_nothing) {
  std::string const brief = shown(text.substr(0, 64));
  unknown_.push_back({brief, fmt::format("{} {}", brief, why), line, may_be_nothing, {}});
  return fmt::format("{}{}{}", mark_begin, unknown_.size() - 1, mark_end);
}

shell_script::values shell_script::expanded(std::string_view raw, int line) {
  if (depth_ >= most_depth) fail(line, "has defaults in defaults beyond any use");
  ++depth_;
  values made = shell_words(*this, raw, line).all();
  --depth_;
  return made;
}

shell_script::unknown const* shell_script::unknown_in(std::string_view word) const {
  std::size_t const begin = word.find(mark_begin);
  std::size_t number = 0;
  if (begin == word.npos) return nullptr;
  std::size_t const end = word.find(mark_end, begin);
  if (end == word.npos || !read_number(word.substr(begin + 1, end - begin - 1), number)) return nullptr;
  return number < unknown_.size() ? &unknown_[number] : nullptr;
}

std::string shell_script::why_unknown(std::string_view word) const {
  unknown const* const found = unknown_in(word);
  return found == nullptr ? std::string() : fmt::format("line {}: {}", found->line, found->why);
}

std::vector<std::string> const* shell_script::branch_words(std::string_view word) const {
  unknown const* const found = unknown_in(word);
  bool const is_whole = word.find(mark_begin) == 0 && word.find(mark_end) + 1 == word.size();
  return found == nullptr || !is_whole || found->words.empty() ? nullptr : &found->words;
}

bool shell_script::may_be_nothing(std::string_view word) const {
  unknown const* const found = unknown_in(word);
  return found != nullptr && found->may_be_nothing;
}

std::string shell_script::shown(std::string_view word) const {
  std::string text;
  while (unknown const* const found = unknown_in(word)) {
    text += std::string(word.substr(0, word.find(mark_begin))) + found->shown;
    word.remove_prefix(word.find(mark_end) + 1);
  }
  return text + std::string(word);
}

}  // namespace tool
