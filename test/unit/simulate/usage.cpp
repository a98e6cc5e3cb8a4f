#include <ashlar/simulate/usage.hpp>
// First, so that it needs nothing before it.
#include "options_of.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <cstddef>

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
        CHECK(u.busy == 3 * 2 * p);
        CHECK(u.exposed == 0);
        CHECK(u.idle() == 3 * (p - 1));
        // Before the first forward d; before the first backward what the others still do.
        CHECK(u.warm_up >= d);
      }
      device_usage const& last = run.usage.back();
      CHECK(last == device_usage{.busy = 6 * p, .warm_up = p - 1, .cool_down = 2 * (p - 1)});
    }
}

}  // namespace
