// The published schedules by name. To add one: its block (or orders) in catalog/, a line here, and its
// facts in the tests.
#pragma once

#include <ashlar/catalog/gpipe.hpp>
#include <ashlar/catalog/one_f_one_b.hpp>
#include <ashlar/catalog/searched.hpp>
#include <ashlar/catalog/shape.hpp>
#include <ashlar/catalog/v_family.hpp>
#include <ashlar/catalog/zb_h1.hpp>
#include <ashlar/catalog/zb_h2.hpp>
#include <ashlar/repeat.hpp>
#include <ashlar/squeeze.hpp>

#include <array>
#include <initializer_list>
#include <string_view>

namespace ashlar::catalog {

struct entry {
  char const* name;
  char const* summary;
  char const* source;
  // The building block, in units of one pass; null where the schedule is not the squeeze of a repeated
  // block.
  block (*block_of)(shape const&) = nullptr;
  // The schedule, where block_of is null or needs more than repeat(m); in any costs.
  schedule (*schedule_of)(shape const&) = nullptr;
  // Whether there is such a schedule: rule::parameter_... of the first parameter out of bounds.
  diagnosis (*check)(shape const&) = is_any_shape;
  unsigned parameters = 0;  // which it looks at besides devices and micro-batches: see uses()

  constexpr bool uses(parameter which) const {
    return (parameters >> static_cast<unsigned>(which) & 1U) != 0;
  }

  // The schedule squeezed under the shape's costs. Throws violation{check(s)}, and as retime does.
  constexpr schedule make(shape const& s) const {
    if (diagnosis const d = check(s); !d.ok()) throw violation{d};
    if (schedule_of != nullptr) return schedule_of(s) | retime(s.cost);
    return block_of(s) | repeat(s.m) | retime(s.cost);
  }
};

// For entry::parameters.
constexpr unsigned parameters_of(std::initializer_list<parameter> all) {
  unsigned bits = 0;
  for (parameter which : all) bits |= 1U << static_cast<unsigned>(which);
  return bits;
}

inline constexpr std::array entries{
    entry{.name = "gpipe",
          .summary = "all forwards, then all backwards",
          .source = "Huang et al., GPipe, 2019",
          .block_of = [](shape const& s) { return gpipe(s.p, s.m); }},
    entry{.name = "1f1b",
          .summary = "one forward, one backward after a warm-up",
          .source = "Narayanan et al., PipeDream-Flush, 2020",
          .block_of = [](shape const& s) { return one_f_one_b(s.p); }},
    entry{.name = "eager-1f1b",
          .summary = "1F1B with twice the warm-up, to hide transfers",
          .source = "Zhuang et al., 2022",
          .block_of = [](shape const& s) { return eager_one_f_one_b(s.p); }},
    entry{.name = "zb-h1",
          .summary = "split backward, weight passes fill the bubble, memory of 1F1B",
          .source = "Qi et al., Zero Bubble Pipeline Parallelism, 2023",
          .block_of = [](shape const& s) { return zb_h1(s.p); }},
    entry{.name = "zb-h2",
          .summary = "ZB-H1 with twice the warm-up and memory, no bubble",
          .source = "Qi et al., Zero Bubble Pipeline Parallelism, 2023",
          .block_of = [](shape const& s) { return zb_h2(s.p); }},
    entry{.name = "zb-1p",
          .summary = "split backward, best schedule found under p micro-batches",
          .source = "Qi et al., Zero Bubble Pipeline Parallelism, 2023",
          .schedule_of = [](shape const& s) { return zero_bubble(s, s.p.value); }},
    entry{.name = "zb-2p",
          .summary = "split backward, best schedule found under 2p micro-batches",
          .source = "Qi et al., Zero Bubble Pipeline Parallelism, 2023",
          .schedule_of = [](shape const& s) { return zero_bubble(s, 2 * s.p.value); }},
    entry{.name = "grouped-interleaved",
          .summary = "groups of micro-batches take turns on the chunks, split backward",
          .source = "Qi et al., Pipeline Parallelism with Controllable Memory, 2024",
          .schedule_of = [](shape const& s) { return grouped_interleaved(s); },
          .check = is_grouped,
          .parameters = parameters_of({parameter::chunk_count, parameter::group_size})},
    entry{.name = "v-min",
          .summary = "V-shaped placement, split backward, a third of the memory of 1F1B",
          .source = "Qi et al., Pipeline Parallelism with Controllable Memory, 2024",
          .block_of = [](shape const& s) { return v_min(s.p); },
          .schedule_of = [](shape const& s) { return within_its_peak(v_min(s.p), s); }},
    entry{.name = "v-half",
          .summary = "V-shaped placement, split backward, half the memory of 1F1B",
          .source = "Qi et al., Pipeline Parallelism with Controllable Memory, 2024",
          .block_of = [](shape const& s) { return v_half(s.p); },
          .schedule_of = [](shape const& s) { return within_its_peak(v_half(s.p), s); }},
    entry{.name = "v-zb",
          .summary = "V-shaped placement, split backward, the memory of 1F1B, no bubble",
          .source = "Qi et al., Pipeline Parallelism with Controllable Memory, 2024",
          .block_of = [](shape const& s) { return v_zb(s.p); },
          .schedule_of = [](shape const& s) { return zero_bubble_v(s, 2 * s.p.value); }},
    entry{.name = "1f1b-v",
          .summary = "V-shaped placement, two thirds of the memory of 1F1B",
          .source = "Qi et al., Pipeline Parallelism with Controllable Memory, 2024",
          .block_of = [](shape const& s) { return one_f_one_b_v(s.p); },
          .schedule_of = [](shape const& s) { return within_its_peak(one_f_one_b_v(s.p), s); }},
    entry{.name = "zbv",
          .summary = "V-shaped placement, best schedule found under the memory of 1F1B",
          .source = "Qi et al., Zero Bubble Pipeline Parallelism, 2023, appendix",
          .schedule_of = [](shape const& s) { return zero_bubble_v(s, 2 * s.p.value); }},
};

// The entry of that name, or null.
constexpr entry const* find(std::string_view name) {
  for (entry const& e : entries)
    if (name == e.name) return &e;
  return nullptr;
}

}  // namespace ashlar::catalog
