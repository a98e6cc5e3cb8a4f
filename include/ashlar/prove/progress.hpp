// The assumption of a backend about who moves a program on, and the proof that the program allows it.
#pragma once

#include <ashlar/program/issue_order.hpp>
#include <ashlar/prove/deadlock_free.hpp>
#include <ashlar/prove/tables.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// The unit that advances by itself. It takes its instructions in order and blocks at each until that has
// ended: at a send until its receive has come, at a collective until all its members have.
enum class progress_level : unsigned char {
  independent_lanes,     // every lane of every device
  one_order_per_device,  // every device, which takes its whole stream in order, over all lanes
  one_order,  // one thread for all devices, which takes an issue order; those that meet start together
};

namespace prove_detail {

// Checks as below, for a view that passes check_tables.
constexpr diagnosis check_readable_issue_order(program_view const& p, list_view<int> order) {
  auto const at = [](int i) { return static_cast<std::size_t>(i); };
  auto const place = [&](int i) {
    int const d = device_of_instruction(p, i);
    return site_of(p.instructions[at(i)], d, i - stream_begin(p, d));
  };
  int const count = static_cast<int>(p.instructions.size());
  std::vector<int> turn(p.instructions.size(), -1);
  for (std::size_t k = 0; k < order.size(); ++k) {
    int const i = order[k];
    if (i < 0 || i >= count) return {.broken = rule::every_instruction_is_issued_once, .number = i};
    if (turn[at(i)] >= 0)
      return {.broken = rule::every_instruction_is_issued_once, .first = place(i), .number = 2};
    turn[at(i)] = static_cast<int>(k);
  }
  for (int i = 0; i < count; ++i)
    if (turn[at(i)] < 0) return {.broken = rule::every_instruction_is_issued_once, .first = place(i)};

  for (int d = 0; d < p.device_count; ++d) {
    wait_table const table = waits(p, d);
    std::vector<int> last(at(p.lane_count), -1);
    int const begin = stream_begin(p, d);
    for (int i = begin; i < stream_end(p, d); ++i) {
      int& before = last[at(p.instructions[at(i)].lane)];
      if (before >= 0 && turn[at(before)] > turn[at(i)])
        return {.broken = rule::lanes_keep_their_order, .first = place(i), .second = place(before)};
      before = i;
      for (int other : table.of(i - begin))
        if (turn[at(begin + other)] > turn[at(i)])
          return {.broken = rule::nothing_is_issued_before_what_it_waits_for,
                  .first = place(i),
                  .second = place(begin + other)};
    }
  }

  std::vector<int> const partner = partners_in_order(p);
  int opener = -1;          // of the rendezvous that is on
  std::size_t to_come = 0;  // of its members
  for (int i : order) {
    instruction const& self = p.instructions[at(i)];
    if (to_come == 0) {
      opener = i;
      to_come = self.code == opcode::all_reduce ? member_count(p, self.group) - 1
                : self.code == opcode::send || self.code == opcode::receive || self.overlaps_next ? 1
                                                                                                  : 0;
      continue;
    }
    instruction const& first = p.instructions[at(opener)];
    bool const meets = first.code == opcode::all_reduce
                           ? self.code == first.code && self.group == first.group
                           : i == (first.overlaps_next ? opener + 1 : partner[at(opener)]);
    if (!meets)
      return {.broken = rule::those_that_meet_are_issued_together,
              .first = place(opener),
              .second = place(i)};
    --to_come;
  }
  if (to_come > 0) return {.broken = rule::those_that_meet_are_issued_together, .first = place(opener)};
  return {};
}

constexpr diagnosis check_progress_of_readable(program_view const& p, progress_level level) {
  if (level == progress_level::one_order) {
    issuing_machine machine(p);
    if (!machine.run()) return machine.diagnose_cycle(rule::no_cycle_of_waits);
    std::vector<int> const order = machine.take().instructions;
    return check_readable_issue_order(p, view_of(order));
  }
  bool const by_lane = level == progress_level::independent_lanes;
  rendezvous_machine machine(p, partners_in_order(p), by_lane ? p.lane_count : 1);
  if (machine.run()) return {};
  return machine.diagnose_cycle(by_lane ? rule::no_cycle_of_waits
                                        : rule::streams_do_not_block_each_other);
}

}  // namespace prove_detail

// Whether one thread can issue a program in this order and block at any instruction: each is there once,
// lanes keep their order, each comes after its waits, and those that meet (the halves of a transfer, the
// members of a collective, an overlapped pair) come one right after the other. Then devices that take
// their parts of this order, each by itself, do not block each other for ever either. `order` holds
// indices into p.instructions. Returns the result of check_tables for a program that it cannot read; the
// k-th send of a device to another meets its k-th receive. Linear in instructions and waits.
constexpr diagnosis check_issue_order(program_view const& p, list_view<int> order) {
  diagnosis const d = check_tables(p);
  return d.ok() ? prove_detail::check_readable_issue_order(p, order) : d;
}

// Whether the program reaches its end on a backend of this level. If not, two neighbours of a cycle of
// waits and its length, or an instruction that waits for nothing that exists, or the result of
// check_tables. For one_order in issue_order(p), which is there for exactly those programs that reach
// their end with independent lanes; those of one order per device do, too. Linear in instructions and
// waits.
constexpr diagnosis check_progress(program_view const& p, progress_level level) {
  diagnosis const d = check_tables(p);
  return d.ok() ? prove_detail::check_progress_of_readable(p, level) : d;
}

}  // namespace ashlar
