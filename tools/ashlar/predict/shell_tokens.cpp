#include "predict/shell_tokens.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tool {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

constexpr int most_nested = 100;

// The place behind the bracket that closes the one at `at`, with quotes and escapes inside.
std::size_t end_of_brackets(std::string_view text, std::size_t at, int depth = 0) {
  char const open = text[at], close = open == '(' ? ')' : '}';
  int inside = 0;
  while (at < text.size()) {
    char const c = text[at];
    if (c == '\'' || c == '"' || c == '`') {
      at = end_of_quoted(text, at, depth + 1);
      continue;
    }
    at += c == '\\' ? 2 : 1;
    inside += c == open ? 1 : c == close ? -1 : 0;
    if (inside == 0) break;
  }
  return std::min(at, text.size());
}

class tokenizer {
 public:
  explicit tokenizer(std::string_view text) : text_(text) {}

  std::vector<shell_token> all() {
    while (at_ < text_.size()) next();
    return std::move(made_);
  }

 private:
  bool begins(std::string_view with) const { return text_.substr(at_, with.size()) == with; }
  void step(std::size_t to) {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    at_ = to;
  }
  void add_operator(std::string_view sign) {
    made_.push_back({.text = std::string(sign), .items = {}, .line = line_, .is_word = false});
    step(at_ + sign.size());
    if (sign == "\n") skip_documents();
  }

  void next() {
    char const c = text_[at_];
    if (is_blank(c)) {
      step(at_ + 1);
    } else if (begins("\\\n")) {
      step(at_ + 2);
    } else if (c == '#') {
      step(std::min(text_.find('\n', at_), text_.size()));
    } else if (begins("((") || begins("[[ ")) {
      bool const is_sum = c == '(';
      std::size_t const close = is_sum ? end_of_brackets(text_, at_) : text_.find(" ]]", at_);
      add_word(is_sum ? close : close == text_.npos ? text_.size() : close + 3);
    } else if (c == '<' || c == '>') {
      redirect();
    } else if (std::string_view("\n;&|()").find(c) != std::string_view::npos) {
      for (std::string_view const sign : {"&>", "&&", "||", ";;", "|&"})
        if (begins(sign)) {
          if (sign != "&>") return add_operator(sign);
          step(at_ + 1);
          return redirect();
        }
      add_operator(text_.substr(at_, 1));
    } else {
      word();
    }
  }

  std::size_t end_of_word() const {
    std::size_t end = at_;
    while (end < text_.size()) {
      char const c = text_[end];
      if (c == '\'' || c == '"' || c == '`')
        end = end_of_quoted(text_, end);
      else if (c == '$')
        end = end_of_dollar(text_, end);
      else if (c == '\\')
        end = std::min(end + 2, text_.size());
      else if (is_blank(c) || std::string_view("\n;&|()<>").find(c) != std::string_view::npos)
        break;
      else
        ++end;
    }
    return end;
  }
  void add_word(std::size_t end) {
    made_.push_back({.text = std::string(text_.substr(at_, end - at_)), .items = {}, .line = line_});
    step(end);
  }
  void word() {
    std::size_t const end = end_of_word();
    std::string_view const found = text_.substr(at_, end - at_);
    bool const is_number = found.find_first_not_of("0123456789") == found.npos;
    if (is_number && end < text_.size() && (text_[end] == '<' || text_[end] == '>'))
      return step(end);  // of a redirection
    bool const is_list = found.ends_with('=') && begins_name(found[0]) && text_.substr(end, 1) == "(";
    add_word(end);
    if (is_list) list();
  }
  void list() {
    made_.back().is_list = true;
    step(at_ + 1);
    while (at_ < text_.size() && text_[at_] != ')') {
      char const c = text_[at_];
      if (is_blank(c) || c == '\n' || begins("\\\n"))
        step(at_ + (c == '\\' ? 2 : 1));
      else if (c == '#')
        step(std::min(text_.find('\n', at_), text_.size()));
      else {
        std::size_t const end = std::max(end_of_word(), at_ + 1);
        made_.back().items.emplace_back(text_.substr(at_, end - at_));
        step(end);
      }
    }
    step(std::min(at_ + 1, text_.size()));
  }

  // Skips a redirection with its file, or with the word that ends a here-document.
  void redirect() {
    bool const is_document = begins("<<") && !begins("<<<");
    bool const is_indented = begins("<<-");
    while (at_ < text_.size() && std::string_view("<>&-|").find(text_[at_]) != std::string_view::npos)
      step(at_ + 1);
    while (at_ < text_.size() && is_blank(text_[at_])) step(at_ + 1);
    std::size_t const end = end_of_word();
    std::string last(text_.substr(at_, end - at_));
    step(end);
    std::erase_if(last, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
    if (is_document) documents_.emplace_back(last, is_indented);
  }
  void skip_documents() {
    for (auto const& [last, is_indented] : documents_)
      while (at_ < text_.size()) {
        std::size_t const end = std::min(text_.find('\n', at_), text_.size());
        std::string_view line = text_.substr(at_, end - at_);
        step(std::min(end + 1, text_.size()));
        while (is_indented && line.starts_with('\t')) line.remove_prefix(1);
        if (line == last) break;
      }
    documents_.clear();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<shell_token> made_;
  std::vector<std::pair<std::string, bool>> documents_;
};

}  // namespace

std::size_t end_of_quoted(std::string_view text, std::size_t at, int depth) {
  if (depth > most_nested) return text.size();
  char const quote = text[at++];
  while (at < text.size() && text[at] != quote) {
    if (text[at] == '$' && quote == '"')
      at = end_of_dollar(text, at, depth + 1);
    else
      at += text[at] == '\\' && quote != '\'' ? 2 : 1;
  }
  return std::min(at + 1, text.size());
}

std::size_t end_of_dollar(std::string_view text, std::size_t at, int depth) {
  ++at;
  if (at >= text.size()) return text.size();
  if (text[at] == '(' || text[at] == '{') return end_of_brackets(text, at, depth);
  bool const is_special = std::string_view("0123456789@*#?$!-").find(text[at]) != std::string_view::npos;
  if (!begins_name(text[at])) return at + (is_special ? 1 : 0);
  while (at < text.size() && is_of_name(text[at])) ++at;
  return at;
}

std::vector<shell_token> shell_tokens(std::string_view text) { return tokenizer(text).all(); }

}  // namespace tool
