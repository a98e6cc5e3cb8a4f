#include <ashlar/model/placement.hpp>
// The header above comes first: it needs nothing before it.
#include "violations.hpp"

#include <limits>
#include <vector>

using namespace ashlar;

namespace {

constexpr bool is(placement const& where, std::vector<int> const& route) {
  if (where.route_count() != 1 || where.stage_count() != static_cast<int>(route.size())) return false;
  for (int s = 0; s < where.stage_count(); ++s)
    if (where.device_of(0, s) != route[static_cast<std::size_t>(s)]) return false;
  return true;
}

TEST_CASE("the named placements") {
  CHECK(is(linear(devices{3}), {0, 1, 2}));
  CHECK(is(linear(devices{1}), {0}));
  CHECK(is(looped(devices{3}, chunks{2}), {0, 1, 2, 0, 1, 2}));
  CHECK(looped(devices{3}, chunks{1}) == linear(devices{3}));
  CHECK(is(v_shape(devices{3}), {0, 1, 2, 2, 1, 0}));
  CHECK(is(v_shape(devices{1}), {0, 0}));
  CHECK(is(wave(devices{2}, waves{2}), {0, 1, 1, 0, 0, 1, 1, 0}));
}

TEST_CASE("mirrored") {
  placement const where(devices{5}, {{0, 3, 3, 1}, {4, 4, 2, 0}});
  CHECK(mirror(where) == placement(devices{5}, {{4, 1, 1, 3}, {0, 0, 2, 4}}));
  CHECK(mirror(mirror(where)) == where);
  CHECK(is(mirror(linear(devices{3})), {2, 1, 0}));
}

TEST_CASE("laid over each other") {
  placement const down = linear(devices{2}), both = overlay(down, mirror(down));
  CHECK((both.route_count() == 2 && both.stage_count() == 2 && both.device_count() == 2));
  CHECK(both == placement(devices{2}, {{0, 1}, {1, 0}}));
  CHECK(overlay(both, down).route_count() == 3);
}

TEST_CASE("absurd placements") {
  using routes = std::vector<std::vector<int>>;
  CHECK_BREAKS(counts_are_positive, placement(devices{0}, routes{{0}}));
  CHECK_BREAKS(counts_are_positive, placement(devices{-1}, routes{{0}}));
  CHECK_BREAKS(counts_are_positive, placement(devices{1}, routes{}));
  CHECK_BREAKS(counts_are_positive, placement(devices{1}, routes{{}}));
  CHECK_BREAKS(tables_agree, placement(devices{2}, routes{{0, 1}, {0}}));
  CHECK_BREAKS(tables_agree, placement(devices{2}, routes{{0}, {0, 1}}));
  CHECK_BREAKS(every_stage_has_a_device, placement(devices{2}, routes{{0, 2}}));
  CHECK_BREAKS(every_stage_has_a_device, placement(devices{2}, routes{{-1, 0}}));
  CHECK_BREAKS(counts_are_positive, linear(devices{0}));
  CHECK_BREAKS(counts_are_positive, looped(devices{2}, chunks{0}));
  CHECK_BREAKS(counts_are_positive, wave(devices{2}, waves{-1}));
  CHECK_BREAKS(tables_agree, overlay(linear(devices{2}), linear(devices{3})));
  CHECK_BREAKS(tables_agree, overlay(linear(devices{2}), v_shape(devices{2})));
  CHECK_BREAKS(tables_agree, overlay(linear(devices{2}), placement(devices{3}, routes{{0, 1}})));
}

TEST_CASE("more stages than there is memory for are refused") {
  constexpr int huge = std::numeric_limits<int>::max();
  CHECK_BREAKS(parameter_is_at_most, looped(devices{70'000}, chunks{70'000}));
  CHECK_BREAKS(parameter_is_at_most, looped(devices{2}, chunks{huge}));
  CHECK_BREAKS(parameter_is_at_most, wave(devices{2}, waves{huge}));
  CHECK_BREAKS(parameter_is_at_most, linear(devices{huge}));
  CHECK_BREAKS(counts_are_positive, looped(devices{-3}, chunks{-3}));
}

TEST_CASE("a placement without anything") {
  CHECK(placement{}.device_count() == 0);
  CHECK(placement{}.route_count() == 0);
}

}  // namespace
