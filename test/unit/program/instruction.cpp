#include <ashlar/program/instruction.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

#include <type_traits>

using namespace ashlar;

namespace {

// Programs are copied into static memory and walked over by every backend.
static_assert(std::is_trivially_copyable_v<instruction> && std::is_trivially_copyable_v<operand>);

TEST_CASE("an instruction computes unless stated otherwise") {
  instruction const i;
  CHECK((i.code == opcode::compute && i.lane == compute_lane));
  CHECK((i.to == -1 && i.peer == -1 && i.group == -1 && i.operand_count == 0));
  CHECK((i == instruction{} && i != instruction{.lane = first_transfer_lane}));
  CHECK(operand{3, access::read} != operand{3, access::write});
  CHECK(static_cast<int>(slot_kind::host_stash) + 1 == slot_kinds);
}

TEST_CASE("a stash and a checkpoint have a kind on the host, all else stays on the device") {
  for (int k = 0; k < slot_kinds; ++k) {
    auto const kind = static_cast<slot_kind>(k);
    CHECK(is_on_host(on_host(kind)) == (on_device(kind) != kind || on_host(kind) != kind));
    CHECK(!is_on_host(on_device(kind)));
    CHECK(!(is_on_host(kind) && is_of_the_step(kind)));
  }
  CHECK((on_host(slot_kind::weight_stash) == slot_kind::weight_stash
         && on_host(slot_kind::gradient) == slot_kind::gradient));
  CHECK(on_host(slot_kind::stash) == slot_kind::host_stash);
  CHECK(on_device(on_host(slot_kind::stash)) == slot_kind::stash);
  CHECK(on_device(on_host(slot_kind::checkpoint)) == slot_kind::checkpoint);
}

}  // namespace
