#include <ashlar/core/opcode.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

// The number of an opcode is part of file formats and of compile-time messages.
TEST_CASE("opcodes keep their numbers") {
  CHECK(static_cast<int>(opcode::compute) == 0);
  CHECK(static_cast<int>(opcode::send) == 1);
  CHECK(static_cast<int>(opcode::receive) == 2);
  CHECK(static_cast<int>(opcode::all_reduce) == 3);
  CHECK(static_cast<int>(opcode::all_gather) == 4);
  CHECK(static_cast<int>(opcode::release) == 5);
  CHECK(static_cast<int>(opcode::reduce_scatter) == 6);
  CHECK(static_cast<int>(opcode::clear) == 7);
  CHECK(static_cast<int>(opcode::measure) == 8);
  CHECK(static_cast<int>(opcode::optimize) == 9);
  CHECK(static_cast<int>(opcode::offload) == 10);
  CHECK(static_cast<int>(opcode::reload) == 11);
}

}  // namespace
