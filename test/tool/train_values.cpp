// `ashlar train` with experts, clipped micro-batches and a scaled loss.
#include "tool/training.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace training_test;

namespace {

std::string const equal = "losses and gradients of 2 steps bitwise equal to the sequential model's";

tool_result verified(std::string const& options) {
  return run_tool("train --steps 2 --verify " + options + tiny + corpus());
}

}  // namespace

TEST_CASE("train has experts that share the tokens of any scope, bit by bit") {
  for (char const* options :
       {"--schedule 1f1b -p 2 -m 2 --experts 3",
        "--schedule 1f1b -p 2 -m 2 --experts 1 --balance running",
        "--schedule zb-h1 -p 2 -m 2 --experts 4 --balance synchronised --data-ranks 2",
        "--schedule gpipe -p 2 -m 2 --experts 4 --balance global --data-ranks 2"}) {
    CAPTURE(options);
    tool_result const r = verified(options);
    CHECK(r.code == 0);
    CHECK(r.err.empty());
    CHECK(contains(r.out, equal));
  }
  auto const picture = scratch() / "loads.svg";
  CHECK(verified("--schedule 1f1b -p 2 -m 2 --experts 4 --loads " + picture.string()).code == 0);
  CHECK(contains(content(picture), ">block 3</text>"));
  CHECK(contains(content(picture), "class=\"line3\""));
}

TEST_CASE("train says why it cannot balance experts so") {
  tool_result r = verified("--schedule 1f1b -p 2 -m 2 --experts 4 --balance global");
  CHECK(r.code == 2);
  CHECK(contains(r.err, "must start after all forwards of its stage, but 1B0 on device 1 starts"));
  r = verified("--schedule 1f1b -p 2 -m 2 --balance global");
  CHECK(r.code == 2);
  CHECK(contains(r.err, " has no effect without --experts"));
  r = verified("--experts 4 --backend cuda");
  CHECK(r.code == 2);
  CHECK(contains(r.err, "for --backend host and mpi"));
}

TEST_CASE("train clips micro-batches, to a norm or to the least one") {
  for (char const* options : {"--schedule 1f1b -p 2 -m 2 --clip-micro-batches 0 --data-ranks 2",
                              "--schedule v-half -p 2 -m 2 --clip-micro-batches 0.5",
                              "--schedule 1f1b -p 2 -m 2 --clip-micro-batches 0.5 --experts 4 --balance "
                              "running"}) {
    CAPTURE(options);
    tool_result const r = verified(options);
    CHECK(r.code == 0);
    CHECK(contains(r.out, equal));
  }
  CHECK(contains(
      verified("--schedule 1f1b -p 2 -m 2 --clip-micro-batches 1 --sharding full --data-ranks 2").err,
      "a gradient that work takes must be all of its stage's"));
}

TEST_CASE("train scales the loss, and passes over steps that overflow") {
  std::string const line = "train --schedule 1f1b -p 2 -m 2 --steps 6 --verify" + tiny + corpus();
  tool_result const plain = run_tool(line), scaled = run_tool(line + " --loss-scale 1024"),
                    too_much = run_tool(line + " --loss-scale 1e300");
  CHECK(plain.code == 0);
  CHECK(scaled.code == 0);
  CHECK(too_much.code == 0);
  auto const losses = [](std::string const& out) { return out.substr(out.rfind("\nloss ")); };
  CHECK(losses(scaled.out) == losses(plain.out));  // a power of two changes no bit
  CHECK(contains(scaled.out, equal));
  CHECK(!contains(scaled.out, "skipped"));
  CHECK(contains(too_much.out, "skipped, as their numbers were not finite: 6 steps"));
}
