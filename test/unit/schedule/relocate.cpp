#include <ashlar/schedule/relocate.hpp>
// First, so that it needs nothing before it.
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

}  // namespace
