// Definitions of csv_problems.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/interop/csv_problems.hpp>

namespace ashlar {

ASHLAR_INLINE std::string to_string(csv_problem const& p) {
  std::string text = "line " + std::to_string(p.line);
  if (p.column > 0) text += ", column " + std::to_string(p.column);
  if (!p.token.empty()) text += ": '" + p.token + "'";
  return text + ": " + p.message;
}

ASHLAR_INLINE void csv_problems::add(csv_problem p, std::string message) {
  if (full()) return;
  p.message = std::move(message);
  list_.push_back(std::move(p));
}

ASHLAR_INLINE std::vector<csv_problem> csv_problems::take() {
  merge_sort(list_, [](csv_problem const& a, csv_problem const& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  return std::move(list_);
}

}  // namespace ashlar
