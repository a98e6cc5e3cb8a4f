// A change of devices between two steps: where each device finds the parameters that it did not have.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/machine.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/parameter_groups.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ashlar {

// Instead of a device: a checkpoint as a source, and a device that was not there before.
inline constexpr int no_device = -1;

// A parameter group's state, its weights and all that its optimizer keeps, is copied to a device from
// another one, or from a checkpoint. Devices have their numbers after the change.
struct state_move {
  int group = 0;
  int from = no_device;
  int to = 0;

  friend constexpr bool operator==(state_move const&, state_move const&) = default;
};

// All copies of a change, and who is who. A device that is lost has no number after it, so nothing can
// be copied from it.
struct migration {
  std::vector<int> was;           // by device: its number before, or no_device
  std::vector<state_move> moves;  // each device takes part in its own in this order

  friend constexpr bool operator==(migration const&, migration const&) = default;
};

namespace migration_detail {

// Whether a device had the group before the change.
constexpr bool had(group_view const& before, migration const& m, int group, int device) {
  int const was = nth(m.was, device);
  return was != no_device && before.member_of(group, was) >= 0;
}

// Throws violation{rule::tables_agree} unless there is one size for all groups, or one each.
constexpr void must_be_sizes(std::vector<byte_count> const& sizes, int group_count) {
  if (sizes.size() != 1 && sizes.size() != static_cast<std::size_t>(group_count))
    refuse(wrong_size(table::stage_memory, sizes.size(), group_count));
}

// The rule that a change of devices breaks whose groups, or number of devices after it, are others.
constexpr diagnosis check_tables(migration const& m, group_view const& before, group_view const& after) {
  if (before.count() != after.count())
    return wrong_size(table::stages_of_placement, after.count(), before.count());
  if (std::size_t const needed = after.holders(after.count()).size(); m.was.size() != needed)
    return wrong_size(table::devices_of_placement, m.was.size(), static_cast<std::int64_t>(needed));
  return {};
}

}  // namespace migration_detail

// The fewest copies: each device keeps what it has, and takes what it lacks from the device that has it
// and has sent least so far, or from a checkpoint if no device has it. `sizes`: bytes by group, or one
// entry for all; else throws violation{rule::tables_agree}, as for groups of other stages, or a `was`,
// as in migration, of another number of devices. O(groups holders devices).
constexpr migration plan_migration(group_view const& before, group_view const& after,
                                   std::vector<int> was, std::vector<byte_count> const& sizes = {1}) {
  migration_detail::must_be_sizes(sizes, after.count());
  migration made{std::move(was), {}};
  must_be(migration_detail::check_tables(made, before, after));
  int const count = static_cast<int>(made.was.size());
  dynamic_array<byte_count> sent(made.was.size(), 0);
  for (int group = 0; group < after.count(); ++group)
    for (int const to : after.holders(group)) {
      if (migration_detail::had(before, made, group, to)) continue;
      int from = no_device;
      for (int d = 0; d < count; ++d)
        if (migration_detail::had(before, made, group, d)
            && (from == no_device || nth(sent, d) < nth(sent, from)))
          from = d;
      if (from != no_device) nth(sent, from) += nth(sizes, sizes.size() == 1 ? 0 : group);
      made.moves.push_back({group, from, to});
    }
  return made;
}

// Whether, after the change, each device has the state of its groups: kept, or copied exactly once from
// where it was. Broken rules: rule::tables_agree for other groups or another number of devices;
// rule::every_stage_has_a_device for a device before the change that is unknown or named twice;
// rule::group_is_held_where_it_is_named for a copy to a device that does not hold the group;
// rule::every_receive_has_its_send for one from a device that did not have it;
// rule::no_transfer_is_doubled for one of what is there already; rule::weights_are_resident_when_used
// for state that is lacking. Linear in copies, and in devices times groups.
constexpr diagnosis check(migration const& m, group_view const& before, group_view const& after) {
  int const count = static_cast<int>(m.was.size());
  if (diagnosis const d = migration_detail::check_tables(m, before, after); !d.ok()) return d;
  int const count_before = static_cast<int>(before.holders(before.count()).size());
  dynamic_array<char> named(static_cast<std::size_t>(count_before), 0);
  for (int d = 0; d < count; ++d) {
    int const was = nth(m.was, d);
    if (was == no_device) continue;
    if (was < 0 || was >= count_before || nth(named, was) != 0)
      return {.broken = rule::every_stage_has_a_device, .first = {.device = d}, .number = was};
    nth(named, was) = 1;
  }
  auto const at = [](int device, int group, opcode code) {
    return site{.device = device, .code = code, .what = {pass_kind::forward, group, 0}};
  };
  dynamic_array<char> there(static_cast<std::size_t>(count * after.count()), 0);
  auto const is_there = [&](int group, int device) -> char& {
    return nth(there, group * count + device);
  };
  for (int group = 0; group < after.count(); ++group)
    for (int const d : after.holders(group))
      is_there(group, d) = migration_detail::had(before, m, group, d) ? 1 : 0;
  for (state_move const& move : m.moves) {
    if (move.group < 0 || move.group >= after.count() || move.to < 0 || move.to >= count
        || after.member_of(move.group, move.to) < 0)
      return {.broken = rule::group_is_held_where_it_is_named,
              .first = at(move.to, move.group, opcode::receive)};
    if (move.from != no_device
        && (move.from < 0 || move.from >= count
            || !migration_detail::had(before, m, move.group, move.from)))
      return {.broken = rule::every_receive_has_its_send,
              .first = at(move.to, move.group, opcode::receive),
              .second = at(move.from, move.group, opcode::send)};
    if (is_there(move.group, move.to) != 0)
      return {.broken = rule::no_transfer_is_doubled,
              .first = at(move.to, move.group, opcode::receive),
              .second = at(move.from, move.group, opcode::send)};
    is_there(move.group, move.to) = 1;
  }
  for (int group = 0; group < after.count(); ++group)
    for (int const d : after.holders(group))
      if (is_there(group, d) == 0)
        return {.broken = rule::weights_are_resident_when_used, .first = at(d, group, opcode::receive)};
  return {};
}

// The time of all copies, if a device sends one after the other, and receives one after the other.
// Checkpoints come over the links to the hosts. `sizes` as above, `on` with the devices after the
// change. Throws violation: rule::tables_agree for too few sizes, rule::sizes_fit for a negative one,
// and as check() for copies of groups, to devices or from ones that there cannot be. Linear in the
// copies.
constexpr tick time_of(migration const& m, std::vector<byte_count> const& sizes, machine const& on) {
  dynamic_array<tick> sent(m.was.size(), 0), received(m.was.size(), 0);
  tick last = 0;
  for (state_move const& move : m.moves) {
    if (sizes.size() != 1 && sizes.size() <= static_cast<std::size_t>(move.group))
      refuse(wrong_size(table::stage_memory, sizes.size(), std::int64_t{move.group} + 1));
    byte_count const size = nth(sizes, sizes.size() == 1 ? 0 : move.group);
    if (size < 0) refuse({.broken = rule::sizes_fit, .number = size});
    bool const saved = move.from == no_device;
    if (move.to < 0 || static_cast<std::size_t>(move.to) >= m.was.size())
      refuse({.broken = rule::group_is_held_where_it_is_named, .first = {.device = move.to}});
    if (!saved && (move.from < 0 || static_cast<std::size_t>(move.from) >= m.was.size()))
      refuse({.broken = rule::every_receive_has_its_send,
              .first = {.device = move.to},
              .second = {.device = move.from}});
    tick const start =
        saved ? nth(received, move.to) : max_of(nth(received, move.to), nth(sent, move.from));
    tick const end = saturating_sum(
        start, saved ? on.host.time_of(size) : on.links.link(move.from, move.to).time_of(size));
    nth(received, move.to) = end;
    if (!saved) nth(sent, move.from) = end;
    last = max_of(last, end);
  }
  return last;
}

}  // namespace ashlar
