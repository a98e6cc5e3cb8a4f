#include <ashlar/simulate/usage.hpp>
// First, so that it needs nothing before it.
#include "options_of.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string_view>

using namespace shapes;

namespace {

TEST_CASE("the idle time of 1F1B and GPipe is where it is known to be") {
  for (int p : {2, 4, 7})
    for (char const* name : {"1f1b", "gpipe"}) {
      schedule const s = catalog::find(name)->make({devices{p}, micro_batches{2 * p}});
      simulation const run = simulate(lower(s), options_of(s));
      CAPTURE(p);
      for (int d = 0; d < p; ++d) {
        device_usage const& u = run.usage[static_cast<std::size_t>(d)];
        // Before the first forward d; before the first backward what the devices after it do: 1F1B
        // begins with p - d forwards, GPipe with all. What is left is after the last forward.
        tick const warm = name == std::string_view("1f1b") ? 2 * (p - 1) - d : d + 3 * (p - 1 - d);
        CHECK(u == device_usage{.busy = 6 * p, .warm_up = warm, .cool_down = 3 * (p - 1) - warm});
      }
    }
}

TEST_CASE("inference warms up until a device's first pass") {
  constexpr pass_kind forward = pass_kind::forward;
  schedule s =
      schedule_from_orders(linear(devices{2}), {0, 0}, {},
                           {{{forward, 0, 0}, {forward, 0, 1}}, {{forward, 1, 0}, {forward, 1, 1}}});
  s.mode = execution_mode::inference;
  s = squeeze(s);
  simulation const run = simulate(lower(s), options_of(s));
  CHECK(run.usage[0] == device_usage{.busy = 2, .cool_down = 1});
  CHECK(run.usage[1] == device_usage{.busy = 2, .warm_up = 1});
}

}  // namespace
