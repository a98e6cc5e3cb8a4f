// Suggests a name for a misspelt one.
#pragma once

#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/interop/near_names.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace tool {

// The schedule whose name is nearest, if any is near; else empty.
inline std::string nearest_name(std::string_view wrong) {
  std::string small;
  for (char c : wrong.substr(0, 64))
    small += c == '_' || c == ' ' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  std::string_view best;
  std::size_t fewest = 3;  // more is no typing error
  auto const look_at = [&](std::string_view name) {
    std::size_t const n = ashlar::edits(small, name);
    bool const begins = small.size() >= 2 && name.starts_with(small);
    if (n >= fewest && !(begins && best.empty())) return;
    best = name;
    fewest = std::min(n, fewest);
  };
  for (ashlar::catalog::entry const* e : ashlar::catalog::all_entries) look_at(e->name);
  for (ashlar::catalog::other_name const& other : ashlar::catalog::other_names) look_at(other.name);
  return std::string(best);
}

}  // namespace tool
