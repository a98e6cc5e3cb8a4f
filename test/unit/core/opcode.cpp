#include <ashlar/core/opcode.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

using namespace ashlar;

namespace {

// The number of an opcode is part of file formats and of compile-time messages.
constexpr bool test_numbers() {
  HOLDS(static_cast<int>(opcode::compute) == 0);
  HOLDS(static_cast<int>(opcode::send) == 1);
  HOLDS(static_cast<int>(opcode::receive) == 2);
  HOLDS(static_cast<int>(opcode::all_reduce) == 3);
  HOLDS(static_cast<int>(opcode::all_gather) == 4);
  HOLDS(static_cast<int>(opcode::release) == 5);
  HOLDS(static_cast<int>(opcode::reduce_scatter) == 6);
  HOLDS(static_cast<int>(opcode::clear) == 7);
  HOLDS(static_cast<int>(opcode::measure) == 8);
  HOLDS(static_cast<int>(opcode::optimize) == 9);
  return true;
}
BOTH_TIMES("opcodes keep their numbers", test_numbers)

}  // namespace
