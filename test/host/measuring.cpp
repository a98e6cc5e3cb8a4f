// The times of transfers and sums are measured with any runtime that records its times.
#include <ashlar/host/runtime.hpp>
#include <ashlar/run/measure_transfers.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace ashlar;

TEST_CASE("host: messages and sums are measured, as often as asked for") {
  host::run_options const options{.record = true};
  auto const transfers = measure::transfers_ns<host::runtime>({.bytes = 64, .repeats = 5}, options);
  CHECK(transfers.size() == 5);
  CHECK(*std::min_element(transfers.begin(), transfers.end()) > 0);
  auto const sums = measure::sums_ns<host::runtime>({.bytes = 64, .repeats = 4}, 3, options);
  CHECK(sums.size() == 4);
  CHECK(*std::min_element(sums.begin(), sums.end()) >= 0);
  CHECK(measure::sums_ns<host::runtime>({.bytes = 64, .repeats = 4}, 1, options).empty());
  auto const link = measure::link_of(
      [&](measure::probe what) { return measure::transfers_ns<host::runtime>(what, options); }, 3);
  REQUIRE(link);
  CHECK((link->latency.samples == 3 && link->bytes_per_second >= 0));
}
