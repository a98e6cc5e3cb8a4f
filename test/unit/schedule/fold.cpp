#include <ashlar/schedule/fold.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/from_orders.hpp>

using namespace shapes;

namespace {

constexpr schedule both_ways(int p) {
  return catalog::chimera(devices{p}, 2) | repeat(micro_batches{p}) | squeeze();
}

constexpr bool test_fold() {
  schedule const s = both_ways(4), folded = fold_in_half(s);
  HOLDS(is_mirror_symmetric(s) && counterparts(s) == std::vector<int>{2, 3, 0, 1});
  HOLDS(check(folded).ok() && (s | fold_in_half()) == folded);
  HOLDS(folded.where == v_shape(devices{2}) && folded.route == std::vector<int>{0, 0});
  HOLDS(folded.order.size() == 2 && folded.order[0].size() == s.order[0].size());
  for (std::size_t i = 0; i < s.order[1].size(); ++i) {
    HOLDS(folded.order[1][i].what.stage == s.order[1][i].what.stage);
    HOLDS(folded.order[1][i].what.micro_batch == s.order[1][i].what.micro_batch % 2);
    HOLDS(folded.order[1][i].start == s.order[1][i].start);
  }
  return true;
}
BOTH_TIMES("each device also does what its mirror image did", test_fold)

constexpr bool test_symmetry() {
  HOLDS(!is_mirror_symmetric(one_f_one_b(4, 4)));  // one route
  schedule s = both_ways(2);
  HOLDS(is_mirror_symmetric(s) && is_mirror_symmetric(mirror(s)));
  s.route = {0, 0};
  HOLDS(!is_mirror_symmetric(s));
  s = both_ways(2);
  s.order[0].pop_back();
  HOLDS(!is_mirror_symmetric(s));
  s = both_ways(2);
  s.order[0][0].what.micro_batch = 7;
  HOLDS(!is_mirror_symmetric(s));
  s = both_ways(2);
  ++s.order[0].back().start;
  HOLDS(!is_mirror_symmetric(s));
  s.order.clear();
  HOLDS(!is_mirror_symmetric(s));
  HOLDS(!is_mirror_symmetric(catalog::gems(devices{2}, micro_batches{4}) | squeeze()));  // in turns
  return true;
}
BOTH_TIMES("what is its own mirror image", test_symmetry)

TEST_CASE("what cannot be folded") {
  CHECK_BREAKS(halves_mirror_each_other, fold_in_half(one_f_one_b(4, 4)));
  CHECK_BREAKS(halves_mirror_each_other, fold_in_half(schedule{}));
  // Symmetric about a device that has nothing to do.
  schedule const odd =
      squeeze(schedule_from_orders(placement(devices{3}, {{0}, {2}}), {0, 1}, costs{},
                                   {{{F, 0, 0}, {B, 0, 0}}, {}, {{F, 0, 1}, {B, 0, 1}}}));
  CHECK(is_mirror_symmetric(odd));
  CHECK_BREAKS(halves_mirror_each_other, fold_in_half(odd));
}

constexpr bool test_fold_with_speeds() {
  schedule s = both_ways(4);
  s.cost.speeds = {100, 50, 50, 100};
  s = squeeze(s);
  schedule const folded = fold_in_half(s);
  HOLDS(folded.cost.speeds == std::vector<int>{100, 50} && check(folded).ok());
  return true;
}
BOTH_TIMES("a device and its mirror image have one speed", test_fold_with_speeds)

TEST_CASE("devices of different speeds do not fold into one") {
  schedule s = both_ways(4);
  s.cost.speeds = {100, 100, 100, 90};
  CHECK_BREAKS(halves_mirror_each_other, fold_in_half(s));
}

}  // namespace
