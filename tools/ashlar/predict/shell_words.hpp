// The words that one word of a shell script becomes.
#pragma once

#include "predict/shell_script.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

class shell_words {
 public:
  // Refers to the script, whose variables it reads and may set, and to the text.
  shell_words(shell_script& of, std::string_view raw, int line) : of_(of), raw_(raw), line_(line) {}

  // Throws usage_error where values grow beyond all scripts.
  std::vector<std::string> all();

 private:
  void end_word();
  void add(char c);
  // Adds text; blanks that are not quoted part words.
  void add(std::string_view text, bool is_quoted);
  void add(std::vector<std::string> const& values, bool is_quoted, bool are_apart);
  void unknown(std::string_view text, std::string const& why, bool may_be_nothing = false);
  void next();
  void dollar(std::string_view text);
  // Takes $NAME or ${NAME...}, `how` being the part behind the name.
  void value(std::string_view text, std::string const& name, std::string_view how);
  // Takes $((...)).
  void sum(std::string_view text);

  shell_script& of_;
  std::string_view raw_;
  int line_;
  std::size_t at_ = 0;
  bool is_quoted_ = false, has_word_ = false;
  std::string word_;
  std::vector<std::string> made_;
};

}  // namespace tool
