// `ashlar train --backend mpi --optimizer-step`: processes make the step in the program.
#include "tool/mpi_training.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace training_test;

TEST_CASE("mpi: processes make the optimizer's step in the program with the bits of threads behind it") {
  for (std::string const shape :
       {"-p 2 -m 2 --schedule chimera --data-ranks 2 --tie-embeddings", "-p 4 -m 4 --schedule v-half",
        "-p 2 -m 2 --schedule 1f1b --data-ranks 2 --sharding full --tie-embeddings"}) {
    CAPTURE(shape);
    std::string const behind = fresh_folder("threads");
    std::string const line = shape + tiny + corpus() + " --clip-norm 0 --steps 3 --save ";
    REQUIRE(run_tool("train " + line + behind).code == 0);
    for (std::string const step : {"at-end", "after-norm"}) {
      CAPTURE(step);
      std::string const within = fresh_folder("processes_" + step);
      tool_result const r = run_on(4, line + within + " --verify --optimizer-step " + step);
      INFO(r.out << r.err);
      CHECK(r.code == 0);
      CHECK(contains(r.out, "losses and gradients of 2 steps bitwise equal to the sequential model's"));
      CHECK(learned_after(within, 3) == learned_after(behind, 3));
    }
  }
}
