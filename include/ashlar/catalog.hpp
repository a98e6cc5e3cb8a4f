// The published schedules by name. To add one: its block in catalog/, a line here, and its facts in the
// tests.
#pragma once

#include <ashlar/catalog/gpipe.hpp>
#include <ashlar/catalog/one_f_one_b.hpp>
#include <ashlar/catalog/v_half.hpp>
#include <ashlar/catalog/zb_h1.hpp>
#include <ashlar/repeat.hpp>
#include <ashlar/squeeze.hpp>

#include <array>
#include <string_view>

namespace ashlar::catalog {

// What to build a schedule for.
struct shape {
  devices p;
  micro_batches m;
  costs cost = {};  // for all stages alike, or one entry for each stage of the schedule
};

struct entry {
  char const* name;
  char const* summary;
  char const* source;
  block (*build)(shape const&);  // the building block, in units of one pass

  // The block repeated and squeezed under the shape's costs. Throws violation as repeat and retime do.
  constexpr schedule make(shape const& s) const { return build(s) | repeat(s.m) | retime(s.cost); }
};

inline constexpr std::array entries{
    entry{"gpipe", "all forwards, then all backwards", "Huang et al., GPipe, 2019",
          [](shape const& s) { return gpipe(s.p, s.m); }},
    entry{"1f1b", "one forward, one backward after a warm-up", "Narayanan et al., PipeDream-Flush, 2020",
          [](shape const& s) { return one_f_one_b(s.p); }},
    entry{"eager-1f1b", "1F1B with twice the warm-up, to hide transfers", "Zhuang et al., 2022",
          [](shape const& s) { return eager_one_f_one_b(s.p); }},
    entry{"zb-h1", "split backward, weight passes fill the bubble, memory of 1F1B",
          "Qi et al., Zero Bubble Pipeline Parallelism, 2023",
          [](shape const& s) { return zb_h1(s.p); }},
    entry{"v-half", "V-shaped placement, split backward, half the memory of 1F1B",
          "Qi et al., Pipeline Parallelism with Controllable Memory, 2024",
          [](shape const& s) { return v_half(s.p); }},
};

// The entry of that name, or null.
constexpr entry const* find(std::string_view name) {
  for (entry const& e : entries)
    if (name == e.name) return &e;
  return nullptr;
}

}  // namespace ashlar::catalog
