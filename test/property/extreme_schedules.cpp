// A check reads nothing that is not there and comes to an end, for any fields of a schedule, a block or
// a workload. The sanitizers are the judges here.
#include "catalog_cases.hpp"
#include "extreme_values.hpp"
#include "random_cases.hpp"
#include <ashlar/block/check.hpp>
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/conformance/random_work.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/schedule/check.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace extreme_fields;

namespace {

TEST_CASE("a schedule whose fields hold anything") {
  for (catalog_case const& c : catalog_cases({2}, {4})) {
    schedule const good = c.schedule();
    FOR_SEEDS(static_cast<std::uint64_t>(random_cases(1000))) {
      CAPTURE(c);
      CAPTURE(seed);
      schedule s = seed % 4 == 0 ? conformance::with_random_work(good, seed, 3) : good;
      if (d.percent(50))
        s.cost.passes =
            std::vector<stage_cost>(static_cast<std::size_t>(s.stage_count()), s.cost.passes.of(0));
      for (int changes = seed % 3 == 0 ? 2 : 1; changes > 0; --changes) extreme_fields::change(d, s);
      CHECK(!explain(check_passes(s), s).empty());
      CHECK(!explain(check(s), s).empty());
      try {
        schedule_bound(s);
      } catch (violation const& v) {
        CHECK(!explain(v.why, s).empty());
      }
    }
  }
}

TEST_CASE("a block whose fields hold anything") {
  for (catalog_case const& c : catalog_cases({2}, {4})) {
    if (!c.has_block()) continue;
    block const good = c.block();
    FOR_SEEDS(static_cast<std::uint64_t>(random_cases(1000))) {
      CAPTURE(c);
      CAPTURE(seed);
      block b = good;
      for (int changes = seed % 3 == 0 ? 2 : 1; changes > 0; --changes) extreme_fields::change(d, b);
      CHECK(!explain(check(b), b).empty());
    }
  }
}

TEST_CASE("a workload whose fields hold anything") {
  FOR_SEEDS(static_cast<std::uint64_t>(random_cases(4000))) {
    CAPTURE(seed);
    workload w{.where = random_placement(d, devices{d.between(1, 3)}, stages{d.between(1, 5)}),
               .micro_batch_count = d.between(1, 4)};
    for (int changes = d.between(1, 3); changes > 0; --changes) extreme_fields::change(d, w);
    diagnosis const found = check(w);
    CHECK(!explain(found).empty());
    if (!found.ok()) continue;
    CHECK(workload_bound(w).makespan >= busiest_work(w));
  }
}

}  // namespace
