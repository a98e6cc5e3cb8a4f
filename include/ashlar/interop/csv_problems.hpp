// What is wrong with a CSV, and where.
#pragma once

#include <ashlar/core/diagnosis.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace ashlar {

// Lines and columns count from 1, columns in bytes, as editors do; a column of 0 means the line as a
// whole.
struct csv_problem {
  int line = 0;
  int column = 0;
  std::string token;
  std::string message;       // what must hold and does not
  rule broken = rule::none;  // none: a matter of format

  friend bool operator==(csv_problem const&, csv_problem const&) = default;
};

// One line for people: `line 2, column 5: '1Q0': ...`.
inline std::string to_string(csv_problem const& p) {
  std::string text = "line " + std::to_string(p.line);
  if (p.column > 0) text += ", column " + std::to_string(p.column);
  if (!p.token.empty()) text += ": '" + p.token + "'";
  return text + ": " + p.message;
}

// Takes the first few.
class csv_problems {
 public:
  explicit csv_problems(std::size_t most) : most_(std::max<std::size_t>(most, 1)) {}

  void add(csv_problem p, std::string message) {
    if (full()) return;
    p.message = std::move(message);
    list_.push_back(std::move(p));
  }
  void add(csv_problem p, rule broken, std::string const& but) {
    p.broken = broken;
    add(std::move(p), std::string(sentence(broken)) + ", but " + but);
  }
  bool full() const { return list_.size() >= most_; }
  bool none() const { return list_.empty(); }
  // In the order of the file.
  std::vector<csv_problem> take() {
    std::stable_sort(list_.begin(), list_.end(), [](csv_problem const& a, csv_problem const& b) {
      return std::pair(a.line, a.column) < std::pair(b.line, b.column);
    });
    return std::move(list_);
  }

 private:
  std::size_t most_;
  std::vector<csv_problem> list_;
};

}  // namespace ashlar
