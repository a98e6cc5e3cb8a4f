#include <ashlar/program/program.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"
#include <ashlar/lower/lower.hpp>

using namespace shapes;

namespace {

constexpr bool test_program_view() {
  program const p = one_f_one_b(2, 2) | lower();
  program_view const v = p.view();
  HOLDS(v.device_count == 2 && v.stage_count == 2 && v.micro_batch_count == 2);
  HOLDS(v.lane_count == p.collective_lane() + 1);
  HOLDS(v.stream(0).size() + v.stream(1).size() == p.instructions.size());
  HOLDS(v.stream(1).begin() == v.stream(0).end());
  HOLDS(v.slots_of(0).size() + v.slots_of(1).size() == p.slots.size());
  std::size_t operands = 0;
  for (int d = 0; d < 2; ++d)
    for (instruction const& i : v.stream(d)) operands += v.operands_of(i).size();
  HOLDS(operands == p.operands.size());
  return true;
}
BOTH_TIMES("a view walks over streams, slots and operands", test_program_view)

constexpr bool test_program_lanes() {
  program p = one_f_one_b(3, 1) | lower();
  for (opcode code : {opcode::send, opcode::receive})
    HOLDS(p.transfer_lane(0, code) == first_transfer_lane
          && p.transfer_lane(2, code) == first_transfer_lane);
  HOLDS(p.collective_lane() == first_transfer_lane + 1);
  p.lanes = transfer_lanes::one_a_peer;
  for (opcode code : {opcode::send, opcode::receive})
    HOLDS(p.transfer_lane(2, code) == first_transfer_lane + 2);
  HOLDS(p.collective_lane() == first_transfer_lane + 3);
  p.lanes = transfer_lanes::one_a_direction;
  HOLDS(p.transfer_lane(2, opcode::send) == first_transfer_lane + 4);
  HOLDS(p.transfer_lane(2, opcode::receive) == first_transfer_lane + 5);
  HOLDS(p.collective_lane() == first_transfer_lane + 6);
  return true;
}
BOTH_TIMES("one transfer lane, one per peer or two", test_program_lanes)

constexpr bool test_count_slots() {
  program const p = one_f_one_b(3, 4) | lower();
  for (int d = 0; d < 3; ++d) {
    HOLDS(count_slots(p.view(), d, slot_kind::weight_gradient) == 1);
    HOLDS(count_slots(p.view(), d, slot_kind::stash) == 3 - d);
    HOLDS(count_slots(p.view(), d, slot_kind::checkpoint) == 0);
  }
  site const s = site_of(p.instructions[1], 0, 1);
  HOLDS(s.device == 0 && s.index == 1 && s.what == pass{F, 0, 0});
  return true;
}
BOTH_TIMES("slots by kind", test_count_slots)

}  // namespace
