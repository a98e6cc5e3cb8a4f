#include <ashlar/block/measures.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"

using namespace shapes;

namespace {

TEST_CASE("from forward to the pass that frees") {
  block const one = catalog::one_f_one_b(devices{4});
  for (int s = 0; s < 4; ++s) CHECK(lifespan(one, stage_id{s}) == 3 * (4 - s));
  block const split = catalog::zb_h1(devices{4});
  for (int s = 0; s < 4; ++s) CHECK(lifespan(split, stage_id{s}) == 3 * 4);
  block const both = two_ways(4);
  CHECK(lifespan(both, stage_id{1}, micro_batch_id{0})
        == lifespan(both, stage_id{1}, micro_batch_id{1}));
}

TEST_CASE("inference keeps nothing beyond the forward") {
  block b = make_block(linear(devices{2}), {}, 1, {F}, [](pass_kind, int s) { return tick{s}; });
  b.mode = execution_mode::inference;
  CHECK(lifespan(b, stage_id{1}) == 1);
}

TEST_CASE("lifespans over intervals") {
  for (int d = 0; d < 4; ++d) {
    CHECK(activation_bound(catalog::one_f_one_b(devices{4}), device_id{d}) == 4 - d);
    CHECK(activation_bound(catalog::eager_one_f_one_b(devices{4}), device_id{d}) == 2 * (4 - d) - 1);
    CHECK(activation_bound(catalog::zb_h1(devices{4}), device_id{d}) == 4);
    CHECK(activation_bound(with_interval(catalog::one_f_one_b(devices{4}), 100), device_id{d}) == 1);
  }
  CHECK(activation_bound(catalog::one_f_one_b(devices{4}), device_id{4}) == 0);
  // There are lifespans of 6 and 12 ticks: whole intervals, and a part of one.
  CHECK(activation_bound(with_interval(catalog::one_f_one_b(devices{4}), 6), device_id{0}) == 2);
  CHECK(activation_bound(with_interval(catalog::one_f_one_b(devices{4}), 5), device_id{0}) == 3);
}

// Two stages share one device. They hold most in the phase of the first one's forward, not in that of
// the second's.
TEST_CASE("the most held over all phases") {
  block const b =
      make_block(placement(devices{1}, {{0, 0}}), {}, 10, {F, B}, [](pass_kind kind, int stage) {
        if (kind == F) return tick{stage == 0 ? 8 : 12};
        return tick{stage == 0 ? 19 : 17};
      });
  CHECK((lifespan(b, stage_id{0}) == 13 && lifespan(b, stage_id{1}) == 7));
  CHECK(repeated_peak(b, device_id{0}) == 3);
  CHECK(repeated_peak(catalog::one_f_one_b(devices{4}), device_id{1}) == 3);
  CHECK(repeated_peak(b, device_id{1}) == 0);
}

TEST_CASE("lifespan needs both ends") {
  block const b = catalog::zb_h1(devices{2});
  CHECK_BREAKS(every_pass_is_present, lifespan(b, stage_id{2}));
  CHECK_BREAKS(every_pass_is_present, lifespan(b, stage_id{0}, micro_batch_id{1}));
  block open = b;
  open.cells.pop_back();  // the weight pass of stage 1
  CHECK_BREAKS(every_pass_is_present, lifespan(open, stage_id{1}));
  CHECK(lifespan(open, stage_id{0}) == lifespan(b, stage_id{0}));
}

}  // namespace
