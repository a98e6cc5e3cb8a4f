// Weights that come and go, and backwards on other devices than forwards.
#include "support.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/catalog/round_pipe.hpp>
#include <ashlar/conformance/sharded_network.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>
#include <ashlar/schedule/residency_rules.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace ashlar;

namespace {

// Five steps of one data-parallel rank, whose gathers and scatters are on lanes of their own.
void check_steps(program const& p) {
  conformance::sharded_network reference(p, 0), w(p, 0);
  sequential one_by_one(p, reference);
  mpi::runtime runtime(MPI_COMM_WORLD, p, w);
  for (std::uint64_t step = 1; step <= 5; ++step) {
    one_by_one.run();
    w.forget();
    w.delays = 1 + step * 64 + static_cast<std::uint64_t>(mpi_test::process());
    runtime.run();
    mpi_test::share_results(std::vector{&w});
    for (int group = 0; group < p.groups.count(); ++group) {
      auto const at = static_cast<std::size_t>(group);
      CHECK(w.gradients()[at] == reference.gradients()[at]);
      auto const mine = w.parameters(group), others = reference.parameters(group);
      CHECK(std::vector(mine.begin(), mine.end()) == std::vector(others.begin(), others.end()));
    }
  }
}

}  // namespace

// Two holders of a stage add up their shards between them, while weights come and gradients go.
TEST_CASE("mpi: steps of one rank with gathers and scatters at the same time") {
  for (char const* name : {"chimera", "v-half", "depth-first"})
    for (sharding_level level : {sharding_level::weights, sharding_level::full}) {
      CAPTURE(name);
      CAPTURE(static_cast<int>(level));
      schedule const s = catalog::find(name)->make({devices{4}, micro_batches{4}});
      lower_options how{.sharding = level, .step = optimizer_step::after_norm};
      check_steps(lower(s, how));
      how.weights = planned_residency(s, {.stages = 1, .lookahead = 1});
      check_steps(lower(s, how));
    }
}

TEST_CASE("mpi: steps in which stages move and weights come and go give the bits of the reference") {
  catalog::round_pipe_cut const cut =
      catalog::plan_round_pipe({.forwards = {2, 2, 2, 2, 4}, .backwards = {6, 6, 6, 6, 12}}, 4);
  for (int rounds : {1, 2}) {
    schedule const s = catalog::round_pipe(devices{4}, micro_batches{3}, cut, {}, rounds);
    residency const weights = catalog::round_pipe_residency(devices{4}, micro_batches{3}, cut, rounds);
    for (sharding_level level : {sharding_level::none, sharding_level::weights, sharding_level::full}) {
      CAPTURE(rounds);
      CAPTURE(static_cast<int>(level));
      lower_options how{.sharding = level,
                        .weight_buffers = catalog::most_layers(cut),
                        .step = optimizer_step::after_norm};
      if (level != sharding_level::none) how.weights = weights;
      check_steps(lower(s, how));
    }
  }
}
