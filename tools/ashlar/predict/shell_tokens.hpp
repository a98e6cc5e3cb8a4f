// The tokens of a shell script, as they are written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

struct shell_token {
  std::string text;                // a word with its quotes; an operator; NAME= or NAME+= of a list
  std::vector<std::string> items;  // of NAME=(...), with their quotes
  int line = 1;
  bool is_word = true;
  bool is_list = false;
};

// Leaves out remarks, redirections and the texts of here-documents. A line's end is an operator, "\n";
// so is what stands between commands. [[ ... ]] and (( ... )) are one word each. An unclosed one goes to
// the end.
std::vector<shell_token> shell_tokens(std::string_view text);

// The end of a part that begins with a quote, or with $: the end of the text if `depth` of quotes and
// brackets in each other are too many.
std::size_t end_of_quoted(std::string_view text, std::size_t at, int depth = 0);
std::size_t end_of_dollar(std::string_view text, std::size_t at, int depth = 0);

inline bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool is_of_name(char c) { return begins_name(c) || (c >= '0' && c <= '9'); }

}  // namespace tool
