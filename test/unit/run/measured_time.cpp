#include <ashlar/run/measured_time.hpp>
// The header above comes first: it needs nothing before it.
#include <doctest/doctest.h>

using namespace ashlar;

TEST_CASE("of measurements, the one in the middle and the quartiles stand for all") {
  CHECK(measured_time_of({9, 1, 5, 3, 7})
        == measured_time{.median = 5, .low = 3, .high = 7, .samples = 5});
  CHECK(measured_time_of({4}) == measured_time{.median = 4, .low = 4, .high = 4, .samples = 1});
  CHECK(measured_time_of({}) == measured_time{});
  CHECK(measured_time_of({1, 2, 3, 4, 5}).scaled(2)
        == measured_time{.median = 6, .low = 4, .high = 8, .samples = 5});
}
