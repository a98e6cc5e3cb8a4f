// Definitions of csv_actions.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/csv_actions.hpp>

namespace ashlar {

ASHLAR_INLINE char const* name_of(csv_dialect d) {
  switch (d) {
    case csv_dialect::detect:
      break;
    case csv_dialect::b_bw:
      return "b-bw";
    case csv_dialect::i_b:
      return "i-b";
    case csv_dialect::reduce_grad:
      return "reduce-grad";
    case csv_dialect::waits:
      return "waits";
  }
  return "detect";
}

ASHLAR_INLINE csv_word const* find_csv_word(std::string_view name) {
  for (csv_word const& w : csv_words)
    if (name == w.name) return &w;
  return nullptr;
}

}  // namespace ashlar
