#include <ashlar/block/modulo_order.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"

#include <doctest/doctest.h>

using namespace shapes;

namespace {

constexpr std::vector<modulo_cell> of_device(block const& b, std::size_t device) {
  lists<modulo_cell> const all = modulo_order(b);
  return {all[device].begin(), all[device].end()};
}

TEST_CASE("offsets modulo the interval") {
  // Device 1 of 1F1B on two devices: F at 1, B at 2.
  block const b = shift(catalog::one_f_one_b(devices{2}), -4);
  CHECK(modulo_order(b).size() == 2);
  CHECK(of_device(b, 0) == std::vector<modulo_cell>{{0, 0, 1}, {2, -2, 0}});  // B at 4 - 4, F at 0 - 4
  CHECK(of_device(b, 1) == std::vector<modulo_cell>{{0, -1, 2}, {1, -1, 3}});
}

TEST_CASE("ties keep the order of the block") {
  block const b =
      make_block(linear(devices{1}), {}, 4, {F, I, W}, [](pass_kind, int) { return tick{4}; });
  CHECK(of_device(b, 0) == std::vector<modulo_cell>{{0, 1, 0}, {0, 1, 1}, {0, 1, 2}});
  block const slow = scale(b, 1'000'000);  // too long an interval to count
  CHECK(of_device(slow, 0) == of_device(b, 0));
}

TEST_CASE("long intervals are ordered as short ones are") {
  for (int p = 1; p <= 12; ++p)
    for (block const& b : {catalog::v_half(devices{p}), catalog::zb_h1(devices{p}), two_ways(p)}) {
      tick const factor = 1'000'003;
      auto const near = modulo_order(b), far = modulo_order(scale(b, factor));
      REQUIRE(near.size() == far.size());
      for (std::size_t d = 0; d < near.size(); ++d) {
        REQUIRE(near[d].size() == far[d].size());
        for (std::size_t i = 0; i < near[d].size(); ++i) {
          CHECK(far[d][i].cell == near[d][i].cell);
          CHECK(far[d][i].quotient == near[d][i].quotient);
          CHECK(far[d][i].remainder == near[d][i].remainder * factor);
        }
      }
    }
}

}  // namespace
