// Lazy views of schedules and programs for range-v3. For host compilers. The viewed object must outlive
// the view. A filtered view remembers where it begins, so it cannot be walked as a const object.
//
//   for (auto const& p : all_passes(s) | of_kind(pass_kind::forward) | of_stage(stage_id{2})) ...
#pragma once

#include <ashlar/core/ids.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <range/v3/view/filter.hpp>
#include <range/v3/view/for_each.hpp>
#include <range/v3/view/iota.hpp>
#include <range/v3/view/transform.hpp>

#include <cstddef>
#include <vector>

namespace ashlar::views {

// A pass where and when it runs.
struct placed_pass {
  pass what;
  int device = 0;
  int index = 0;  // of its slot in the device's order
  tick start = 0;
  tick end = 0;

  friend bool operator==(placed_pass const&, placed_pass const&) = default;
};

// An instruction and where it stands.
struct placed_instruction {
  instruction const* self = nullptr;
  int device = 0;
  int index = 0;  // in the device's stream

  instruction const& operator*() const { return *self; }
  instruction const* operator->() const { return self; }
};

// The passes of one device, in order, of a pair the forward first. Input range: to be walked once.
inline auto passes_of(schedule const& s, device_id device) {
  auto const& order = nth(s.order, device.value);
  return ranges::views::iota(0, static_cast<int>(order.size()))
         | ranges::views::for_each([&s, &order, d = device.value](int i) {
             time_slot const& t = nth(order, i);
             return ranges::views::iota(0, t.is_pair() ? 2 : 1)
                    | ranges::views::transform([&s, &t, d, i](int second) {
                        return placed_pass{second != 0 ? t.beside : t.what, d, i, t.start,
                                           s.end_of(t, d)};
                      });
           });
}

// The passes of all devices, one device after the other. Input range: to be walked once.
inline auto all_passes(schedule const& s) {
  return ranges::views::iota(0, static_cast<int>(s.order.size()))
         | ranges::views::for_each([&s](int d) { return passes_of(s, device_id{d}); });
}

// Filters for everything that has a pass as its member `what`: placed passes, timed passes, the cells of
// a block.
inline auto of_kind(pass_kind kind) {
  return ranges::views::filter([kind](auto const& x) { return x.what.kind == kind; });
}
inline auto of_micro_batch(micro_batch_id k) {
  return ranges::views::filter([k](auto const& x) { return x.what.micro_batch == k.value; });
}
inline auto of_stage(stage_id stage) {
  return ranges::views::filter([stage](auto const& x) { return x.what.stage == stage.value; });
}

// The idle intervals of a device, from tick 0 to the schedule's makespan. The device's passes must not
// overlap.
inline auto gaps(schedule const& s, device_id device) {
  auto const& order = nth(s.order, device.value);
  return ranges::views::iota(std::size_t{0}, order.size() + 1)
         | ranges::views::transform([&s, &order, d = device.value, end = makespan(s)](std::size_t i) {
             return idle_time{i == 0 ? 0 : s.end_of(order[i - 1], d),
                              i == order.size() ? end : order[i].start};
           })
         | ranges::views::filter([](idle_time const& g) { return g.length() > 0; });
}

// The instructions of one device, in the order of its stream. Random access.
inline auto instructions_of(program const& p, device_id device) {
  int const d = device.value;
  return ranges::views::iota(0, stream_end(p, d) - stream_begin(p, d))
         | ranges::views::transform([&p, d](int i) {
             return placed_instruction{&nth(p.instructions, stream_begin(p, d) + i), d, i};
           });
}

// The instructions of all devices. Input range: to be walked once.
inline auto all_instructions(program const& p) {
  return ranges::views::iota(0, p.device_count())
         | ranges::views::for_each([&p](int d) { return instructions_of(p, device_id{d}); });
}

// Filters for placed instructions.
inline auto on_lane(int lane) {
  return ranges::views::filter([lane](placed_instruction const& i) { return i->lane == lane; });
}
inline auto of_code(opcode code) {
  return ranges::views::filter([code](placed_instruction const& i) { return i->code == code; });
}

}  // namespace ashlar::views
