// The problems of a CSV, with their places.
#pragma once

#include <ashlar/core/rule.hpp>

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
  std::string message;       // the condition that does not hold
  rule broken = rule::none;  // none: a matter of format

  friend bool operator==(csv_problem const&, csv_problem const&) = default;
};

// One line for people: `line 2, column 5: '1Q0': ...`.
std::string to_string(csv_problem const& p);

// Collects the first few problems.
class csv_problems {
 public:
  // Keeps the first `most` problems.
  explicit csv_problems(std::size_t most) : most_(std::max<std::size_t>(most, 1)) {}

  // Adds a problem. With a rule, the message is the rule's sentence and the actual state.
  void add(csv_problem p, std::string message);
  void add(csv_problem p, rule broken, std::string const& but) {
    p.broken = broken;
    add(std::move(p), std::string(sentence(broken)) + ", but " + but);
  }
  bool full() const { return list_.size() >= most_; }
  bool none() const { return list_.empty(); }
  // Returns the problems in the order of the file.
  std::vector<csv_problem> take();

 private:
  std::size_t most_;
  std::vector<csv_problem> list_;
};

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/csv_problems.ipp>
#endif
