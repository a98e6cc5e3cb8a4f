// `ashlar train --optimizer-step`: training learns the same, whoever makes the optimizer's step.
#include "tool/refusals.hpp"
#include "tool/training.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace training_test;

namespace {

char const* const verified_all =
    "losses and gradients of 2 steps bitwise equal to the sequential model's";

// The result of three steps, the first and the last of which are verified.
learned learned_with(std::string const& options) {
  std::string const folder = fresh_folder("optimizer_step");
  tool_result const r =
      run_tool("train --steps 3 --verify --save " + folder + " " + options + tiny + corpus());
  CAPTURE(options);
  INFO(r.out << r.err);
  REQUIRE(r.code == 0);
  CHECK(contains(r.out, verified_all));
  return learned_after(folder, 3);
}

}  // namespace

TEST_CASE("a program's own optimizer step learns the bits of the one behind it") {
  for (std::string const shape :
       {"--schedule 1f1b -p 2 -m 2", "--schedule v-half -p 2 -m 2 --precision double",
        "--schedule chimera -p 2 -m 2 --tie-embeddings",
        "--schedule chimera -p 2 -m 2 --data-ranks 2 --sharding optimizer",
        "--schedule zb-h1 -p 2 -m 2 --data-ranks 2 --tie-embeddings",
        "--schedule breadth-first -p 2 -m 2 --data-ranks 2 --sharding gradients --tie-embeddings",
        "--schedule zb-h1 -p 2 -m 2 --data-ranks 2 --sharding weights",
        "--schedule 1f1b-recompute -p 2 -m 2 --data-ranks 3 --sharding full --experts 4"}) {
    CAPTURE(shape);
    learned const behind = learned_with(shape + " --clip-norm 0 --optimizer-step none");
    CHECK(learned_with(shape + " --clip-norm 0") == behind);
    CHECK(learned_with(shape + " --clip-norm 0 --optimizer-step at-end") == behind);
    CHECK(learned_with(shape + " --clip-norm 0 --optimizer-step after-norm") == behind);
  }
}

// The program adds the devices' squares in double, where the step behind it adds them exactly: in float
// the factor is the same.
TEST_CASE("a program clips by the norm that it sums") {
  for (std::string const shape :
       {"--schedule 1f1b -p 3 -m 2", "--schedule zb-h1 -p 2 -m 2 --data-ranks 2 --sharding full"}) {
    CAPTURE(shape);
    learned const clipped = learned_with(shape + " --clip-norm 0.05 --optimizer-step after-norm");
    CHECK(clipped == learned_with(shape + " --clip-norm 0.05"));
    CHECK(clipped != learned_with(shape + " --clip-norm 0"));
    CHECK(learned_with(shape + " --clip-norm 1") == learned_with(shape));
  }
}

TEST_CASE("a checkpoint goes on with another optimizer step") {
  std::string const whole = fresh_folder("whole");
  std::string const line = tiny + corpus() + " --clip-norm 0 --steps 4 --save-every 2 --save ";
  REQUIRE(run_tool("train --schedule 1f1b -p 2 -m 2" + line + whole).code == 0);
  std::string from = checkpoint_path(whole, 2);
  for (std::string const step : {"at-end", "after-norm", "none"}) {
    CAPTURE(step);
    std::string const folder = fresh_folder("from_" + step);
    tool_result const r = run_tool("train --schedule v-half -p 2 -m 2 --verify --optimizer-step " + step
                                   + " --resume " + from + line + folder);
    INFO(r.out << r.err);
    CHECK(r.code == 0);
    CHECK(learned_after(folder, 4) == learned_after(whole, 4));
  }
  // The next one is what at-end has saved.
  std::string const first = fresh_folder("first"), second = fresh_folder("second");
  std::string const at_end = "train --schedule 1f1b -p 2 -m 2 --optimizer-step at-end";
  REQUIRE(run_tool(at_end + line + first).code == 0);
  REQUIRE(
      run_tool("train --schedule 1f1b -p 1 -m 2 --resume " + checkpoint_path(first, 2) + line + second)
          .code
      == 0);
  CHECK(learned_after(first, 4) == learned_after(whole, 4));
  CHECK(learned_after(second, 4) == learned_after(whole, 4));
}

TEST_CASE("a step whose gradient is not finite changes nothing after the norm, and all at the end") {
  std::string const line = "train --schedule 1f1b -p 2 -m 2 --steps 30 --learning-rate 1e9" + tiny
                           + corpus() + " --optimizer-step ";
  tool_result const known = run_tool(line + "after-norm"),
                    unknown = run_tool(line + "at-end --clip-norm 0");
  CHECK(known.code == 1);
  CHECK(contains(known.out, " on micro-batch "));
  CHECK(unknown.code == 1);
  CHECK(contains(unknown.out, "and by now the weights have numbers that are not finite"));
  std::string const behind = fresh_folder("behind"), within = fresh_folder("within");
  std::string const skip = " --skip-nonfinite --save ";
  CHECK(run_tool(line + "none" + skip + behind).code == 0);
  tool_result const skipped = run_tool(line + "after-norm" + skip + within);
  CHECK(skipped.code == 0);
  CHECK(contains(skipped.out, "skipped, as their numbers were not finite: "));
  CHECK(learned_after(within, 30) == learned_after(behind, 30));
}

TEST_CASE("optimizer steps that cannot be made are refused before the first step") {
  all_refused(
      {{"train --optimizer-step at-end", "knows no norm to clip by: it needs --clip-norm 0"},
       {"train --optimizer-step at-end --clip-norm 0 --skip-nonfinite",
        "--optimizer-step at-end has changed the weights before --skip-nonfinite could skip a step"},
       {"train --optimizer-step after-norm --loss-scale 2", "--loss-scale needs --optimizer-step none"},
       {"train --backend cuda --optimizer-step none",
        "--backend cuda ends every step with --optimizer-step after-norm"},
       {"train --backend cuda --optimizer-step at-end --clip-norm 0",
        "--backend cuda ends every step with --optimizer-step after-norm"},
       {"train --optimizer-step never", "never not in {after-norm,at-end,none}"},
       {"train --clip-norm -1", "--clip-norm must be"}});
}
