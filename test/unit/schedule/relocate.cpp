#include <ashlar/schedule/relocate.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/compose.hpp>

using namespace shapes;

namespace {

TEST_CASE("on other devices") {
  schedule const s = one_f_one_b(3, 4);
  CHECK(relocate(s, s.where) == s);
  CHECK(relocate(s, mirror(s.where)) == mirror(s));
  schedule const alone = relocate(s, placement(devices{1}, {{0, 0, 0}}));
  CHECK((check(alone).ok() && makespan(alone) == 4 * 9));
  schedule const ways = relocate(s, overlay(s.where, mirror(s.where)));
  CHECK(
      (check(ways).ok() && ways.route == std::vector<int>{0, 1, 0, 1} && ways.where.route_count() == 2));
}

TEST_CASE("pairs, sequences and what cannot move") {
  schedule const pairs = catalog::find("dualpipev")->make({devices{2}, micro_batches{4}});
  CHECK(check(relocate(pairs, placement(devices{2}, {{0, 1, 0, 1}}))).ok());
  schedule const chunks = catalog::find("seq1f1b")->make({devices{2}, micro_batches{4}});
  schedule const moved = relocate(chunks, overlay(chunks.where, mirror(chunks.where)));
  CHECK(check(moved).ok());
  CHECK(moved.route == std::vector<int>{0, 0, 1, 1, 0, 0, 1, 1});
  CHECK_BREAKS(tables_agree, relocate(pairs, linear(devices{3})));
  schedule slow = one_f_one_b(2, 2);
  slow.cost.on.speeds = {100, 50};
  CHECK_BREAKS(tables_agree, relocate(slow, placement(devices{1}, {{0, 0}})));
}

TEST_CASE("speeds are those of the new devices") {
  schedule s = one_f_one_b(2, 2);
  s.cost.on.speeds = {50};
  schedule const alone = relocate(s, placement(devices{1}, {{0, 0}}));
  CHECK((check(alone).ok() && makespan(alone) == 2 * 2 * 6));
}

TEST_CASE("what is unknown is refused before it is looked up") {
  schedule const s = one_f_one_b(2, 2);
  auto const with = [&](pass what) {
    schedule other = s;
    other.order[0][0].what = what;
    return other;
  };
  for (pass const what : {pass{pass_kind::forward, 0, 1'000'000}, pass{pass_kind::forward, -7, 0},
                          pass{pass_kind::forward, 2, 0}, pass{pass_kind::work, 0, 0}})
    CHECK_BREAKS(every_pass_is_known, relocate(with(what), linear(devices{2})));
  schedule other = s;
  other.graph = chain(stages{3});
  CHECK_BREAKS(tables_agree, relocate(other, s.where));
  other = {};
  other.route = {0};
  CHECK_BREAKS(counts_are_positive, relocate(other, placement{}));
}

}  // namespace
