// Names under which papers and frameworks know schedules of the catalog.
#pragma once

#include <ashlar/core/list_view.hpp>

#include <array>
#include <cstddef>

namespace ashlar::catalog {

// A name, and the entry that it means.
struct other_name {
  char const* name;
  char const* entry;
};

// PyTorch's classes are found without their "Schedule", too.
inline constexpr std::array other_names{
    other_name{"afab", "gpipe"},                              // all forwards, all backwards
    other_name{"pipedream-flush", "1f1b"},                    // Narayanan et al., 2020
    other_name{"dapple", "1f1b"},                             // Fan et al., 2020
    other_name{"interleaved", "depth-first"},                 // Megatron-LM
    other_name{"interleaved-1f1b", "depth-first"},            // PyTorch
    other_name{"looped-dfs", "depth-first"},                  // Lamy-Poirier, 2022
    other_name{"virtual-pipeline", "depth-first"},            // Megatron-LM
    other_name{"vpp", "depth-first"},                         // Megatron-LM
    other_name{"looped", "breadth-first"},                    // Lamy-Poirier, 2022
    other_name{"zb", "zb-h1"},                                // Qi et al., 2023
    other_name{"zero-bubble", "zb-h1"},                       // Qi et al., 2023
    other_name{"zbv-zero-bubble", "zbv"},                     // PyTorch
    other_name{"interleaved-zero-bubble", "interleaved-zb"},  // PyTorch
    other_name{"seq1f1b-i", "seq1f1b-interleaved"},           // Sun et al., 2024
};

// Whether two names have the same letters and digits. Case, hyphens, underscores and blanks do not
// count: ZBH1 is zb-h1. O(length).
constexpr bool is_same_name(list_view<char> a, list_view<char> b) {
  auto const small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  auto const skips = [](char c) { return c == '-' || c == '_' || c == ' '; };
  std::size_t i = 0, j = 0;
  while (true) {
    while (i < a.size() && skips(a[i])) ++i;
    while (j < b.size() && skips(b[j])) ++j;
    if (i == a.size() || j == b.size()) return i == a.size() && j == b.size();
    if (small(a[i++]) != small(b[j++])) return false;
  }
}

}  // namespace ashlar::catalog
