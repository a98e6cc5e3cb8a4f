// The published schedules that are named for a limit on memory and searched for, by name; and the whole
// catalog. It stands apart from entries.hpp, because it brings the optimizer along.
#pragma once

#include <ashlar/catalog/entries.hpp>
#include <ashlar/catalog/entry.hpp>
#include <ashlar/catalog/other_names.hpp>
#include <ashlar/catalog/searched.hpp>
#include <ashlar/catalog/vocabulary_entries.hpp>
#include <ashlar/core/list_view.hpp>

#include <array>
#include <cstddef>

namespace ashlar::catalog {

// The published schedules whose order is searched for. Making one takes up to about a second.
inline constexpr std::array searched_entries{
    entry{.name = "zb-1p",
          .summary = "split backward, best schedule found under p micro-batches",
          .source = "Qi et al., Zero Bubble Pipeline Parallelism, 2023",
          .schedule_of = [](shape const& s) { return zero_bubble(s, s.p.value); },
          .is_searched = true},
    entry{.name = "zb-2p",
          .summary = "split backward, best schedule found under 2p micro-batches",
          .source = "Qi et al., Zero Bubble Pipeline Parallelism, 2023",
          .schedule_of = [](shape const& s) { return zero_bubble(s, 2 * s.p.value); },
          .is_searched = true},
    entry{.name = "zbv",
          .summary = "V-shaped placement, best schedule found under the memory of 1F1B",
          .source = "Qi et al., Zero Bubble Pipeline Parallelism, 2023, appendix",
          .schedule_of = [](shape const& s) { return zero_bubble_v(s, 2 * s.p.value); },
          .placed = placement_kind::v,
          .is_searched = true},
};

// The schedules for any model that divides into p devices or some stages a device: entries, then
// searched_entries.
inline constexpr auto all_entries = [] {
  std::array<entry const*, entries.size() + searched_entries.size()> all{};
  std::size_t n = 0;
  for (entry const& e : entries) all[n++] = &e;
  for (entry const& e : searched_entries) all[n++] = &e;
  return all;
}();

// The entry of a name in any list, vocabulary_entries among them; else the one that the name means in
// another spelling, or under another name: ZBH1, vpp, ScheduleLoopedBFS. Null if there is none.
constexpr entry const* find_any(list_view<char> name) {
  auto const found = [](auto is_it) -> entry const* {
    for (entry const* e : all_entries)
      if (is_it(*e)) return e;
    for (entry const& e : vocabulary_entries)
      if (is_it(e)) return &e;
    return nullptr;
  };
  auto const spelled = [&](list_view<char> other) -> entry const* {
    for (other_name const& known : other_names)
      if (is_same_name(characters(known.name), other))
        return found([&](entry const& e) { return is_named(e, characters(known.entry)); });
    return found([&](entry const& e) { return is_same_name(characters(e.name), other); });
  };
  if (entry const* const exact = found([&](entry const& e) { return is_named(e, name); })) return exact;
  if (entry const* const meant = spelled(name)) return meant;
  list_view<char> const prefix = characters("schedule");
  if (name.size() <= prefix.size()
      || !is_same_name({name.begin(), name.begin() + prefix.size()}, prefix))
    return nullptr;
  return spelled({name.begin() + prefix.size(), name.end()});
}
constexpr entry const* find_any(char const* name) { return find_any(characters(name)); }

}  // namespace ashlar::catalog
