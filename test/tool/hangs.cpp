// `ashlar check --for nccl-flight-recorder`: dumps of runs of torch.distributed.
#include "tool/refusals.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

// Checks the dumps of test/data/hang/NAME.
tool_result checked(std::string const& name, std::string const& more = "") {
  return run_tool("check --for nccl-flight-recorder " ASHLAR_TEST_DATA "/hang/" + name + " " + more);
}

}  // namespace

TEST_CASE("check: the record of a run that ended has no hang") {
  tool_result const r = checked("healthy");
  CHECK(r.code == 0);
  CHECK(contains(r.out, "2 ranks with"));
  CHECK(contains(r.out, "no hang: all operations can end"));
}

TEST_CASE("check: two ranks that send first are a circle, with the lines of Python") {
  tool_result const r = checked("sends");
  CHECK(r.code == 1);
  CHECK(contains(r.out, "hang: operations wait for each other in a circle"));
  CHECK(contains(r.out,
                 "rank 0, operation 4: send to rank 1 in group 1 (one): [4] Float\n    at loops.py:"));
  CHECK(contains(r.out, "waits for rank 1, which is in operation 4"));
  CHECK(checked("sends", "--running").code == 1);  // no later operation mends it
}

TEST_CASE("check: a rank that has stopped is named, unless the run goes on") {
  tool_result const r = checked("stopped");
  CHECK(r.code == 1);
  CHECK(contains(r.out, "not issued what others wait for"));
  CHECK(contains(r.out, "whose record ends with operation"));
  tool_result const later = checked("stopped", "--running");
  CHECK(later.code == 0);
  CHECK(contains(later.out, "no hang, if the run goes on"));
}

TEST_CASE("check: sizes that differ are named with the passes of the schedule") {
  tool_result const r = checked("sizes", "--schedule 1f1b -p 2 -m 4");
  CHECK(r.code == 1);
  CHECK(contains(r.out, "hang: ranks give an operation different sizes"));
  CHECK(contains(r.out, "what 0F"));
  CHECK(contains(r.out, "forward of stage 0, micro-batch"));
  tool_result const other = checked("sizes", "--schedule 1f1b -p 4 -m 4");
  CHECK(contains(other.out,
                 "passes are not known: a group that sends values has 2 ranks, and the schedule 4"));
}

TEST_CASE("check: a rank without a dump is named") {
  tool_result const r =
      run_tool("check --for nccl-flight-recorder " ASHLAR_TEST_DATA "/hang/sends/rank_0.json");
  CHECK(r.code == 1);
  CHECK(contains(r.out, "rank 1 has no record here, and others wait for it"));
}

TEST_CASE("check: what is no dump is refused") {
  std::string const text = scratch_file("rank_7.json", "{}");
  std::string const nameless = scratch_file("dump.json", "{}");
  std::string const evil = scratch_file("rank_8",
                                        "\x80\x02"
                                        "cos\nsystem\n.");
  std::string const dumps = "check --for nccl-flight-recorder ";
  std::string const sends = ASHLAR_TEST_DATA "/hang/sends";
  all_refused({
      {dumps + text, "lacks \"version\""},
      {dumps + nameless, "does not end in its rank"},
      {dumps + evil, "it would import or call something, which is never done"},
      {dumps + sends + " " + sends, "is a second dump of rank 0"},
      {dumps + "/dev/null/nothing_1", "cannot read"},
      {dumps + sends + " --certificate c.json", "--certificate"},
      {dumps + sends + " -p 2", "--devices has no effect without --schedule"},
      {"check --running 1f1b", "--running has no effect without --for nccl-flight-recorder"},
      {"check 1f1b gpipe", "one file too many"},
  });
}
