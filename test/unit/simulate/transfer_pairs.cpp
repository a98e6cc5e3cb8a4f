#include <ashlar/simulate/transfer_pairs.hpp>
// The header above comes first: it needs nothing before it.
#include "mutate.hpp"
#include "options_of.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

using namespace shapes;
using namespace mutate;

namespace {

pass const first_forward{F, 0, 0};

// The instruction with this code and pass on a device.
instruction& one(program& p, int device, opcode code) {
  return at(p, device, find(p, device, code, first_forward));
}

TEST_CASE("each transfer has its other half") {
  program const p = lower(one_f_one_b(3, 2));
  dynamic_array<int> const other = transfer_pairs(p);
  int transfers = 0;
  for (std::size_t i = 0; i < p.instructions.size(); ++i) {
    instruction const& self = p.instructions[i];
    bool const moves = self.code == opcode::send || self.code == opcode::receive;
    CHECK(moves == (other[i] >= 0));
    if (!moves) continue;
    ++transfers;
    CHECK(other[static_cast<std::size_t>(other[i])] == static_cast<int>(i));
    CHECK(p.instructions[static_cast<std::size_t>(other[i])].what == self.what);
  }
  CHECK(transfers == 2 * 2 * 4);
}

TEST_CASE("a transfer without its other half is refused, whichever half is there") {
  program const good = lower(one_f_one_b(3, 2));
  program p = good;
  drop(p, 1, find(p, 1, opcode::receive, first_forward));
  CHECK_BREAKS(every_send_has_its_receive, transfer_pairs(p));
  p = good;
  drop(p, 0, find(p, 0, opcode::send, first_forward));
  CHECK_BREAKS(every_receive_has_its_send, transfer_pairs(p));
  p = good;
  one(p, 1, opcode::receive).peer = 2;  // from another device than it is sent from
  CHECK_BREAKS(every_send_has_its_receive, transfer_pairs(p));
  p = good;
  one(p, 0, opcode::send).peer = 2;
  CHECK_BREAKS(every_send_has_its_receive, transfer_pairs(p));
  p = good;
  one(p, 0, opcode::send).to = 2;  // no stage that reads it
  CHECK_BREAKS(every_send_has_its_receive, transfer_pairs(p));
}

TEST_CASE("what is not known is refused where it stands") {
  schedule const s = one_f_one_b(3, 2);
  program const good = lower(s);
  auto const place = [&](auto change) {
    program p = good;
    int const index = find(p, 1, opcode::compute, {F, 1, 0});
    change(at(p, 1, index));
    diagnosis const d = check_can_be_timed(p, options_of(s));
    CHECK((d.broken == rule::every_pass_is_known && d.first.device == 1 && d.first.index == index));
  };
  place([](instruction& i) { i.what.stage = 3; });
  place([](instruction& i) { i.what.micro_batch = 2; });
  place([](instruction& i) { i.what = {X, 5, 0}; });
}

}  // namespace
