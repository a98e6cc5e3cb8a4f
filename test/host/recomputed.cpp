// Recomputation of some micro-batches: threads have the gradients of the schedule that recomputes none.
#include "equal_steps.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/schedule/recomputed_passes.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

using namespace ashlar;

TEST_CASE("host: forwards of some micro-batches once more, with the bits of none") {
  int again = 0;
  std::mt19937_64 random(3);
  for (char const* name : {"1f1b", "zb-h1", "v-half", "depth-first", "chimera", "seq1f1b"})
    for (int percent : {20, 50, 80}) {
      CAPTURE(name);
      schedule const plain = catalog::find(name)->make({devices{4}, micro_batches{4}});
      std::vector<pass> some;
      for (int stage = 0; stage < plain.stage_count(); ++stage)
        for (int k = 0; k < plain.micro_batch_count(); ++k)
          if (static_cast<int>(random() % 100) < percent) some.push_back({pass_kind::forward, stage, k});
      again += static_cast<int>(some.size());
      program const p = lower(plain, {.step = optimizer_step::at_end}),
                    q = lower(recompute_passes(plain, some), {.step = optimizer_step::at_end});
      REQUIRE(check(q).ok());
      check_equal_steps(p, q);
    }
  CHECK(again > 100);
}
