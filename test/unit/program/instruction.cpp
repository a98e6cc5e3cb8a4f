#include <ashlar/program/instruction.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

#include <type_traits>

using namespace ashlar;

namespace {

// Programs are copied into static memory and walked over by every backend.
static_assert(std::is_trivially_copyable_v<instruction> && std::is_trivially_copyable_v<operand>);

constexpr bool test_defaults() {
  instruction const i;
  HOLDS(i.code == opcode::compute && i.lane == compute_lane);
  HOLDS(i.to == -1 && i.peer == -1 && i.group == -1 && i.operand_count == 0);
  HOLDS(i == instruction{} && i != instruction{.lane = first_transfer_lane});
  HOLDS(operand{3, access::read} != operand{3, access::write});
  HOLDS(static_cast<int>(slot_kind::work_state) + 1 == slot_kinds);
  return true;
}
BOTH_TIMES("an instruction computes unless told otherwise", test_defaults)

}  // namespace
