#include <ashlar/run/measure_transfers.hpp>
// The header above comes first: it needs nothing before it.
#include <ashlar/prove/prove.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace ashlar;
using measure::probe;

TEST_CASE("from a short and a long message come latency and bandwidth") {
  auto const link_with = [](double latency, double ns_a_byte) {
    return [=](probe what) {
      return std::vector<double>(static_cast<std::size_t>(what.repeats),
                                 latency + ns_a_byte * static_cast<double>(what.bytes));
    };
  };
  auto const link = measure::link_of(link_with(1000, 0.5), 9);
  REQUIRE(link);
  CHECK(link->latency.median == 1032);  // with 64 bytes
  CHECK(link->latency.samples == 9);
  CHECK(link->bytes_per_second == doctest::Approx(2e9));
  CHECK(measure::link_of(link_with(1000, 0), 1)->bytes_per_second == 0);
  CHECK_FALSE(measure::link_of([](probe) { return std::vector<double>(); }, 9));
  // Four ranks: 6 steps, each with a quarter of the bytes.
  auto const ring = measure::ring_of(link_with(6000, 1.5), 1, 4);
  CHECK(ring->latency.median == doctest::Approx((6000 + 1.5 * 64) / 6));
  CHECK(ring->bytes_per_second == doctest::Approx(1e9));
}

TEST_CASE("a message one way is half of what lies between the first device's two passes") {
  program const p = measure::round_trip();
  CHECK(check(p).ok());
  std::vector<instruction_time> times(p.view().stream(0).size());
  for (std::size_t i = 0; i < times.size(); ++i)
    if (instruction const& self = p.instructions[i]; self.code == opcode::compute)
      times[i] =
          self.what.kind == pass_kind::forward ? instruction_time{10, 30} : instruction_time{130, 900};
  CHECK(measure::one_way_ns(p.view(), times) == 50);
}

TEST_CASE("of a sum, the rank that came last tells what it takes") {
  program const p = measure::sum_over(3);
  CHECK(check(p).ok());
  std::vector<instruction_time> times(3 * p.instructions.size(), {5, 6});
  for (std::size_t rank = 0; rank < 3; ++rank)
    for (std::size_t i = 0; i < p.instructions.size(); ++i)
      if (p.instructions[i].code == opcode::all_reduce)
        times[rank * p.instructions.size() + i] = {rank == 1 ? 700 : 100, 1000};
  CHECK(measure::sum_ns(p.view(), times, 0) == 900);
  CHECK(measure::sum_of_last_ns(p.view(), times, 3) == 300);
}
