#include <ashlar/prove/proved_program.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <utility>

using namespace shapes;

namespace {

TEST_CASE("a proved program is what was proved") {
  program const p = one_f_one_b(3, 4) | lower();
  proved_program const proved = one_f_one_b(3, 4) | lower() | prove();
  CHECK(proved.get() == p);
  CHECK(proved == proved_program(p));
  CHECK(proved.view().instructions.data() == proved.get().instructions.data());
  proved_program given = p;
  CHECK(std::move(given).take() == p);
}

TEST_CASE("a wrong program is none, and what is wrong is said") {
  program p = one_f_one_b(2, 2) | lower();
  p.instructions[1].what.stage = 1;
  try {
    static_cast<void>(proved_program(p));
    FAIL("proved");
  } catch (violation const& v) {
    CHECK(v.why == check(p));
  }
}

}  // namespace
