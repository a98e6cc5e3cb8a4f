#include "predict/shell_words.hpp"

#include "predict/shell_expressions.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tool {

namespace {

constexpr std::size_t most_bytes = 10'000'000;  // of all values

}  // namespace

std::vector<std::string> shell_words::all() {
  while (at_ < raw_.size()) next();
  end_word();
  return std::move(made_);
}

void shell_words::end_word() {
  if (has_word_) made_.push_back(std::exchange(word_, {}));
  has_word_ = false;
}

void shell_words::add(char c) {
  if (++of_.bytes_ > most_bytes) of_.fail(line_, "variables are too long");
  word_ += c;
  has_word_ = true;
}

void shell_words::add(std::string_view text, bool is_quoted) {
  has_word_ = has_word_ || is_quoted;
  for (char c : text)
    if (is_quoted || std::string_view(" \t\r\n").find(c) == std::string_view::npos)
      add(c);
    else
      end_word();
}

void shell_words::add(std::vector<std::string> const& values, bool is_quoted, bool are_apart) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0 && are_apart) end_word();
    if (i > 0 && !are_apart) add(" ", is_quoted);
    add(values[i], is_quoted);
  }
}

void shell_words::unknown(std::string_view text, std::string const& why, bool may_be_nothing) {
  add(of_.mark(text, why, line_, may_be_nothing), true);
}

void shell_words::next() {
  char const c = raw_[at_];
  if (c == '\'') {
    std::size_t const end = end_of_quoted(raw_, at_);
    has_word_ = true;
    add(raw_.substr(at_ + 1, end - at_ - (end > at_ + 1 && raw_[end - 1] == '\'' ? 2 : 1)), true);
    at_ = end;
  } else if (c == '"') {
    is_quoted_ = !is_quoted_;
    has_word_ = true;
    ++at_;
  } else if (c == '\\' && at_ + 1 < raw_.size()) {
    char const escaped = raw_[at_ + 1];
    if (is_quoted_ && std::string_view("\"\\$`\n").find(escaped) == std::string_view::npos) add(c);
    if (escaped != '\n') add(escaped);
    at_ += 2;
  } else if (c == '`') {
    std::size_t const end = end_of_quoted(raw_, at_);
    add(of_.mark(raw_.substr(at_, end - at_), "is what a command prints", line_), true);
    at_ = end;
  } else if (c == '$' && at_ + 1 < raw_.size()) {
    std::size_t const end = end_of_dollar(raw_, at_);
    dollar(raw_.substr(at_, end - at_));
    at_ = end;
  } else {
    add(c == shell_script::mark_begin || c == shell_script::mark_end ? '?' : c);
    ++at_;
  }
}

void shell_words::dollar(std::string_view text) {
  if (text.size() < 2) return add(text, true);
  if (text.starts_with("$((")) return sum(text);
  if (text[1] == '(') return unknown(text, "is what a command prints");
  bool const is_braced = text[1] == '{';
  std::string_view const inside =
      is_braced ? text.substr(2, text.size() - (text.ends_with('}') ? 3 : 2)) : text.substr(1);
  std::size_t end = 0;
  while (end < inside.size() && is_of_name(inside[end])) ++end;
  bool const is_given =
      !inside.empty() && std::string_view("0123456789@*").find(inside[0]) != std::string_view::npos;
  if (end == 0 || !begins_name(inside[0]))
    return is_given ? unknown(text, "is an argument of the script", true)
                    : unknown(text, "is not evaluated here");
  value(text, std::string(inside.substr(0, end)), inside.substr(end));
}

void shell_words::value(std::string_view text, std::string const& name, std::string_view how) {
  bool const is_all = how.starts_with("[@]") || how.starts_with("[*]");
  bool const are_apart = how.starts_with("[@]");
  if (is_all) how.remove_prefix(3);
  auto const known = of_.variables_.find(name);
  bool is_set = known != of_.variables_.end();
  std::vector<std::string> values;
  if (is_set)
    values = known->second;
  else if (char const* const outside = std::getenv(name.c_str()); outside != nullptr) {
    values.emplace_back(outside);
    is_set = true;
  }
  if (!is_all && values.size() > 1) values.resize(1);  // as $NAME of a list is
  bool const is_empty = values.empty() || (values.size() == 1 && values[0].empty());
  if (how.empty()) {
    if (!is_set) return unknown(text, "is set neither in the file nor in the environment", true);
    return add(values, is_quoted_, are_apart);
  }
  bool const minds_empty = how.starts_with(':');
  std::string_view const sign = how.substr(minds_empty ? 1 : 0, 1);
  std::string_view const other = how.substr(std::min(how.size(), std::size_t{minds_empty ? 2U : 1U}));
  bool const counts = is_set && !(minds_empty && is_empty);
  if (sign == "-" || sign == "=" || sign == "?") {
    if (counts) return add(values, is_quoted_, are_apart);
    if (sign == "?") return unknown(text, "is set neither in the file nor in the environment", true);
    std::vector<std::string> const made = of_.expanded(other, line_);
    if (sign == "=" && of_.is_decided_)
      of_.variables_[name] = {of_.mark(text, "is set behind a condition", line_)};
    else if (sign == "=")
      of_.variables_[name] = made;
    return add(made, is_quoted_, false);
  }
  if (sign == "+") return counts ? add(of_.expanded(other, line_), is_quoted_, false) : void();
  unknown(text, "is not evaluated here");
}

void shell_words::sum(std::string_view text) {
  std::string_view const inside = text.substr(3, text.size() - (text.ends_with("))") ? 5 : 3));
  std::string known;  // with values in the place of names
  for (std::size_t at = 0; at < inside.size();) {
    if (inside[at] == '$') {
      std::size_t const end = end_of_dollar(inside, at);
      std::vector<std::string> const made = of_.expanded(inside.substr(at, end - at), line_);
      for (std::string const& each : made) known += each;
      at = end;
    } else if (begins_name(inside[at])) {
      std::size_t end = at;
      while (end < inside.size() && is_of_name(inside[end])) ++end;
      std::vector<std::string> const made =
          of_.expanded(fmt::format("${{{}}}", inside.substr(at, end - at)), line_);
      for (std::string const& each : made) known += "(" + each + ")";
      at = end;
    } else {
      known += inside[at++];
    }
  }
  if (auto const* const of = of_.unknown_in(known)) return unknown(text, "needs " + of->why);
  if (auto const found = value_of_sum(known)) return add(fmt::format("{}", *found), true);
  unknown(text, "is no sum of whole numbers that is evaluated here");
}

}  // namespace tool
