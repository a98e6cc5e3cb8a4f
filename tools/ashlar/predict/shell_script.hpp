// The commands that a shell script would run, by its text alone: no command, condition or loop is
// evaluated.
#pragma once

#include "predict/shell_tokens.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

// The end of errors about what is not evaluated here.
inline constexpr char const* how_to_evaluate =
    "; or let bash read it: `python -m ashlar_pp.read launch -- bash FILE`";

// A word stands for itself, or has unknown parts: why_unknown() says why.
struct shell_command {
  int line = 1;
  std::vector<std::string> words;
  std::string when;  // what decides whether it runs: "`if` of line 2"; empty: it runs
};

// Variables are set from top to bottom, and where the script does not set them, the environment does.
// A value is not known if a condition, a loop, a function, a command or an argument of the script
// decides it.
class shell_script {
 public:
  // `path`: for messages. Throws usage_error for values that grow beyond all scripts.
  shell_script(std::string path, std::string_view text);

  std::vector<shell_command> const& commands() const { return commands_; }
  // The words that each variable was given, in the order of the lines.
  std::vector<std::vector<std::string>> const& assigned() const { return assigned_; }

  // Why a word is not known: "line 3: $TP is set neither here nor in the environment". Empty: it is
  // known.
  std::string why_unknown(std::string_view word) const;
  // Whether it may be nothing at all: a variable that is not set, an argument of the script.
  bool may_be_nothing(std::string_view word) const;
  // The words that a condition or a loop may put in its place; nullptr: it is no such word.
  std::vector<std::string> const* branch_words(std::string_view word) const;
  // The word as the script has it.
  std::string shown(std::string_view word) const;

 private:
  friend class shell_words;

  // These stand around the number of an unknown part.
  static constexpr char mark_begin = '\x01', mark_end = '\x02';

  using values = std::vector<std::string>;
  struct unknown {
    std::string shown, why;
    int line;
    bool may_be_nothing = false;
    values words = {};  // of a branch
  };

  void run(std::vector<shell_token> const& command, std::string const& when);
  void assign(shell_token const& token, std::string const& when);
  void forget_names(shell_token const& token, std::string_view verb);
  // A mark stands in a word for something that is not known.
  std::string mark(std::string_view text, std::string const& why, int line, bool may_be_nothing = false);
  values expanded(std::string_view raw, int line);
  unknown const* unknown_in(std::string_view word) const;
  [[noreturn]] void fail(int line, std::string const& what) const;

  std::string path_;
  std::vector<shell_command> commands_;
  std::vector<values> assigned_;
  std::vector<unknown> unknown_;
  std::map<std::string, values> variables_;
  std::size_t bytes_ = 0;    // of all values
  int depth_ = 0;            // of defaults in defaults
  bool is_decided_ = false;  // by a condition: what runs now
};

}  // namespace tool
