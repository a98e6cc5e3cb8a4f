#include <ashlar/schedule/fold.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/from_orders.hpp>

using namespace shapes;

namespace {

constexpr schedule both_ways(int p) {
  return catalog::chimera(devices{p}, 2) | repeat(micro_batches{p}) | squeeze();
}

TEST_CASE("each device also does what its mirror image did") {
  schedule const s = both_ways(4), folded = fold_in_half(s);
  CHECK((is_mirror_symmetric(s) && counterparts(s) == std::vector<int>{2, 3, 0, 1}));
  CHECK((check(folded).ok() && (s | fold_in_half()) == folded));
  CHECK((folded.where == v_shape(devices{2}) && folded.route == std::vector<int>{0, 0}));
  CHECK((folded.order.size() == 2 && folded.order[0].size() == s.order[0].size()));
  for (std::size_t i = 0; i < s.order[1].size(); ++i) {
    CHECK(folded.order[1][i].what.stage == s.order[1][i].what.stage);
    CHECK(folded.order[1][i].what.micro_batch == s.order[1][i].what.micro_batch % 2);
    CHECK(folded.order[1][i].start == s.order[1][i].start);
  }
}

TEST_CASE("both passes of a pair get the number that their micro-batch has on its new route") {
  schedule const folded =
      catalog::find("dualpipe")->make({devices{4}, micro_batches{8}}) | fold_in_half() | squeeze();
  int pairs = 0;
  for (auto const& order : folded.order)
    for (time_slot const& t : order) pairs += t.is_pair();
  CHECK((pairs > 0 && check(folded).ok()));
}

TEST_CASE("what is its own mirror image") {
  CHECK(!is_mirror_symmetric(one_f_one_b(4, 4)));  // one route
  schedule s = both_ways(2);
  CHECK((is_mirror_symmetric(s) && is_mirror_symmetric(mirror(s))));
  s.route = {0, 0};
  CHECK(!is_mirror_symmetric(s));
  s = both_ways(2);
  s.order[0].pop_back();
  CHECK(!is_mirror_symmetric(s));
  s = both_ways(2);
  for (int const unknown : {-1, 2, 7}) {
    s.order[0][0].what.micro_batch = s.order.back()[0].what.micro_batch = unknown;
    CHECK(!is_mirror_symmetric(s));
  }
  s = both_ways(2);
  ++s.order[0].back().start;
  CHECK(!is_mirror_symmetric(s));
  s.order.clear();
  CHECK(!is_mirror_symmetric(s));
  CHECK(!is_mirror_symmetric(catalog::gems(devices{2}, micro_batches{4}) | squeeze()));  // in turns
}

TEST_CASE("what cannot be folded") {
  CHECK_BREAKS(halves_mirror_each_other, fold_in_half(one_f_one_b(4, 4)));
  CHECK_BREAKS(halves_mirror_each_other, fold_in_half(schedule{}));
  // It is symmetric about a device that has nothing to do.
  schedule const odd =
      squeeze(schedule_from_orders(placement(devices{3}, {{0}, {2}}), {0, 1}, costs{},
                                   {{{F, 0, 0}, {B, 0, 0}}, {}, {{F, 0, 1}, {B, 0, 1}}}));
  CHECK(is_mirror_symmetric(odd));
  CHECK_BREAKS(halves_mirror_each_other, fold_in_half(odd));
}

TEST_CASE("a device and its mirror image have one speed") {
  schedule s = both_ways(4);
  s.cost.on.speeds = {100, 50, 50, 100};
  s = squeeze(s);
  schedule const folded = fold_in_half(s);
  CHECK((folded.cost.on.speeds == std::vector<int>{100, 50} && check(folded).ok()));
}

TEST_CASE("devices of different speeds do not fold into one") {
  schedule s = both_ways(4);
  s.cost.on.speeds = {100, 100, 100, 90};
  CHECK_BREAKS(halves_mirror_each_other, fold_in_half(s));
}

}  // namespace
