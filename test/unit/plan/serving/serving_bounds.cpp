#include <ashlar/plan/serving/serving_bounds.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

#include <vector>

using namespace ashlar;

namespace {

TEST_CASE("serving bounds are the least of each number") {
  // Three layers on two devices of which each holds two, one in the wider variant.
  serving_problem problem;
  problem.limit = {5, 6};
  for (int d = 0; d < 2; ++d)
    problem.variants.push_back(
        std::vector<std::vector<layer_variant>>(3, {{{10, 1}, 2, 7}, {{8 + d, 2}, 3, 0}}));
  serving_bounds const bounds(problem);
  CHECK((bounds.before(0, 0) == serving_bound{0, 0, 0} && bounds.after(2, 3) == serving_bound{0, 0, 0}));
  // One layer each way: the wider in sum and prefill, the narrower in decode.
  CHECK(
      (bounds.before(1, 1) == serving_bound{10, 8, 1} && bounds.after(1, 2) == serving_bound{11, 9, 1}));
  // Two: a wider and a narrower one on the first device, two wider ones on the second.
  CHECK((bounds.before(1, 2) == serving_bound{28, 18, 2}
         && bounds.after(1, 1) == serving_bound{22, 18, 2}));
  CHECK((!bounds.before(1, 3).is_possible() && !bounds.before(1, 0).is_possible()));
  CHECK(bounds.before(2, 3) == bounds.after(0, 0));
  CHECK(bounds.after(0, 0) == serving_bound{32, 18, 2});
}

}  // namespace
