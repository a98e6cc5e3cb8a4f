// Exports of any schedule for other systems are right, or refused.
#include "doors/exports.hpp"
#include "random_cases.hpp"

#include <doctest/doctest.h>

TEST_CASE("exports of anything") {
  FOR_SEEDS(static_cast<std::uint64_t>(long_cases(8'000))) {
    CAPTURE(seed);
    CHECK_NOTHROW(doors::of_exports(d));
  }
}
