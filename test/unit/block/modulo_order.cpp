#include <ashlar/block/modulo_order.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"

using namespace shapes;

namespace {

constexpr bool test_folded_residues() {
  // Device 1 of 1F1B on two devices: F at 1, B at 2.
  auto const folded = fold(shift(catalog::one_f_one_b(devices{2}), -4));
  HOLDS(folded.size() == 2);
  HOLDS(folded[0] == std::vector<folded_cell>{{0, 0, 1}, {2, -2, 0}});  // B at 4 - 4, F at 0 - 4
  HOLDS(folded[1] == std::vector<folded_cell>{{0, -1, 2}, {1, -1, 3}});
  return true;
}
BOTH_TIMES("offsets folded into one interval", test_folded_residues)

constexpr bool test_tied_residues() {
  block const b =
      make_block(linear(devices{1}), {}, 4, {F, I, W}, [](pass_kind, int) { return tick{4}; });
  HOLDS(fold(b)[0] == std::vector<folded_cell>{{0, 1, 0}, {0, 1, 1}, {0, 1, 2}});
  block const slow = scale(b, 1'000'000);  // too long an interval to count
  HOLDS(fold(slow)[0] == fold(b)[0]);
  return true;
}
BOTH_TIMES("ties keep the order of the block", test_tied_residues)

TEST_CASE("long intervals fold as short ones do") {
  for (int p = 1; p <= 12; ++p)
    for (block const& b : {catalog::v_half(devices{p}), catalog::zb_h1(devices{p}), two_ways(p)}) {
      tick const factor = 1'000'003;
      auto const near = fold(b), far = fold(scale(b, factor));
      REQUIRE(near.size() == far.size());
      for (std::size_t d = 0; d < near.size(); ++d) {
        REQUIRE(near[d].size() == far[d].size());
        for (std::size_t i = 0; i < near[d].size(); ++i) {
          CHECK(far[d][i].cell == near[d][i].cell);
          CHECK(far[d][i].quotient == near[d][i].quotient);
          CHECK(far[d][i].residue == near[d][i].residue * factor);
        }
      }
    }
}

}  // namespace
