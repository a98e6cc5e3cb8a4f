// Stages whose backwards run on other devices than their forwards, with weights that are fetched for
// each task: virtual devices give the bits of the sequential reference, also as a replayed graph.
#include "staged.hpp"
#include <ashlar/catalog/round_pipe.hpp>
#include <ashlar/conformance/data_parallel_ranks.hpp>
#include <ashlar/cuda/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <vector>

using namespace ashlar;

TEST_CASE("cuda: RoundPipe, whose stages move, at every level of sharding") {
  catalog::round_pipe_cut const cut =
      catalog::plan_round_pipe({.forwards = {2, 2, 2, 2, 4}, .backwards = {6, 6, 6, 6, 12}}, 3);
  for (int rounds : {1, 2})
    for (int ranks : {1, 2})
      for (sharding_level level :
           {sharding_level::none, sharding_level::weights, sharding_level::full}) {
        CAPTURE(rounds);
        CAPTURE(ranks);
        CAPTURE(static_cast<int>(level));
        schedule const s = catalog::round_pipe(devices{3}, micro_batches{3}, cut, {}, rounds);
        lower_options how{.data_ranks = ranks,
                          .sharding = level,
                          .weight_buffers = catalog::most_layers(cut),
                          .step = optimizer_step::after_norm};
        if (level != sharding_level::none)
          how.weights = catalog::round_pipe_residency(devices{3}, micro_batches{3}, cut, rounds);
        program const p = lower(s, how);
        conformance::data_parallel_ranks expected(p), found(p);
        sequential reference(p, expected.workers());
        std::vector<std::unique_ptr<cuda_test::staged_rank>> on_gpu;
        std::vector<cuda_test::staged_rank*> workers;
        for (conformance::sharded_network* w : found.workers()) {
          on_gpu.push_back(std::make_unique<cuda_test::staged_rank>(*w));
          workers.push_back(on_gpu.back().get());
        }
        cuda::runtime runtime(p, workers, {.gpus = {0}});
        for (int step = 0; step < 4; ++step) {
          expected.forget();
          found.forget();
          reference.run();
          runtime.run();
          for (int group = 0; group < p.groups.count(); ++group) {
            CHECK(found.gradient(group) == expected.gradient(group));
            CHECK(found.weights(group) == expected.weights(group));
          }
        }
      }
}
