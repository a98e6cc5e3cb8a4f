// When devices have the weights of their stages whole, where data-parallel ranks keep them in shards.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// An interval in which a device has the weights of a stage. Passes are numbered in the device's order,
// from 0, both of a pair.
struct weight_stay {
  int stage = 0;
  int buffer = 0;  // of the device, which holds them
  int fetch = 0;   // they are gathered before this pass
  int last = 0;    // the last pass that reads them: behind it they are given up

  friend constexpr bool operator==(weight_stay const&, weight_stay const&) = default;
};

// A plan of residency for a schedule: for each device the stays of weights there, in the order in
// which they are gathered. A gather that stands far ahead of the first pass that reads it runs beside
// the passes between, as soon as its buffer is free.
struct residency {
  std::vector<std::vector<weight_stay>> stays = {};  // by device; empty: no plan

  constexpr bool empty() const { return stays.empty(); }
  // How many buffers a device needs: the most stages whose weights it has at once.
  constexpr int buffer_count(int device) const {
    int count = 0;
    for (weight_stay const& stay : nth(stays, device)) count = max_of(count, stay.buffer + 1);
    return count;
  }
  // How often weights are gathered, on all devices.
  constexpr std::size_t gather_count() const {
    std::size_t count = 0;
    for (auto const& of_device : stays) count += of_device.size();
    return count;
  }

  friend constexpr bool operator==(residency const&, residency const&) = default;
};

// The passes of a device by number, both of each pair.
constexpr dynamic_array<timed_pass> numbered_passes(std::vector<time_slot> const& order) {
  dynamic_array<timed_pass> passes;
  for (timed_pass const t : each_pass(order)) passes.push_back(t);
  return passes;
}
// Whether the pass of that number is the first of a pair.
constexpr bool opens_pair(list_view<timed_pass> passes, std::size_t i) {
  return i + 1 < passes.size() && passes[i].slot == passes[i + 1].slot;
}
// Whether it is the second.
constexpr bool closes_pair(list_view<timed_pass> passes, int i) {
  return i > 0 && opens_pair(passes, static_cast<std::size_t>(i) - 1);
}

namespace residency_detail {

// Checks the stays of one device against its passes. Linear.
constexpr diagnosis check_device(list_view<weight_stay> stays, list_view<timed_pass> passes,
                                 int stage_count, int device) {
  constexpr int none = -1;
  int const size = static_cast<int>(passes.size()), count = static_cast<int>(stays.size());
  auto const gather = [&](int stay) {
    weight_stay const& s = nth(stays, stay);
    return site{device, s.fetch, opcode::all_gather, {pass_kind::forward, s.stage, 0}};
  };
  dynamic_array<int> of_stage(static_cast<std::size_t>(stage_count), none);
  dynamic_array<int> in_buffer(stays.size(), none);
  int next = 0;
  for (int i = 0; i <= size; ++i) {
    for (; next < count && (nth(stays, next).fetch <= i || i == size); ++next) {
      weight_stay const& s = nth(stays, next);
      if (s.stage < 0 || s.stage >= stage_count)
        return {.broken = rule::every_pass_is_known, .first = gather(next)};
      if (s.fetch < 0 || s.last >= size || s.last < s.fetch || nth(passes, s.last).what.stage != s.stage
          || is_part(nth(passes, s.last).what))
        return {.broken = rule::gathered_weights_are_used, .first = gather(next)};
      if (next > 0 && s.fetch < nth(stays, next - 1).fetch)
        return {.broken = rule::order_has_no_cycle, .first = gather(next), .second = gather(next - 1)};
      int& other = nth(of_stage, s.stage);
      if (other != none && nth(stays, other).last >= s.fetch)
        return {.broken = rule::gathered_weights_are_given_up,
                .first = gather(next),
                .second = gather(other)};
      other = next;
      if (s.buffer < 0 || s.buffer >= count)
        return {.broken = rule::slot_holds_what_is_read, .first = gather(next), .number = s.buffer};
      int& held = nth(in_buffer, s.buffer);
      if (held != none && nth(stays, held).last >= s.fetch)
        return {.broken = rule::no_slot_is_overwritten_before_its_last_read,
                .first = gather(next),
                .second = gather(held),
                .number = s.buffer};
      held = next;
    }
    if (i == size || is_part(nth(passes, i).what)) continue;
    pass const what = nth(passes, i).what;
    int const stay = nth(of_stage, what.stage);
    if (stay == none || nth(stays, stay).last < i)
      return {.broken = rule::weights_are_resident_when_used,
              .first = {.device = device, .index = i, .what = what},
              .second = stay == none ? site{} : gather(stay)};
  }
  return {};
}

}  // namespace residency_detail

// Whether every pass finds its stage's weights resident, no gather is unused, and no buffer holds
// two stages at once. Broken rules: rule::tables_agree, rule::every_pass_is_known,
// rule::gathered_weights_are_used, rule::order_has_no_cycle for gathers out of order,
// rule::gathered_weights_are_given_up, rule::slot_holds_what_is_read for an unknown buffer,
// rule::no_slot_is_overwritten_before_its_last_read, rule::weights_are_resident_when_used. The schedule
// passes check_form(). Linear in passes and stays.
constexpr diagnosis check(residency const& r, schedule const& s) {
  if (r.empty()) return {};
  if (r.stays.size() != s.order.size())
    return wrong_size(table::stays_of_devices, r.stays.size(),
                      static_cast<std::int64_t>(s.order.size()));
  for (int d = 0; d < s.device_count(); ++d) {
    dynamic_array<timed_pass> const passes = numbered_passes(nth(s.order, d));
    if (diagnosis const found = residency_detail::check_device(view_of(nth(r.stays, d)), view_of(passes),
                                                               s.stage_count(), d);
        !found.ok())
      return found;
  }
  return {};
}

}  // namespace ashlar
