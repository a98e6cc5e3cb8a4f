// Files that PyTorch itself makes (2.15.0; data/pytorch): those that run everywhere, that wait in a
// cycle and that are out of order, each with its place.
#include <ashlar/interop/pytorch_comms.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>

using namespace ashlar;

namespace {

std::string own(std::string const& name) {
  std::ifstream file(ASHLAR_TEST_DATA "/pytorch/" + name + ".csv");
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("its interleaved 1F1B is right with any lanes") {
  for (auto lanes : {transfer_lanes::one, transfer_lanes::one_a_peer, transfer_lanes::one_a_direction})
    CHECK(read_pytorch_comms(own("interleaved"), {.lanes = lanes}).value);
}

TEST_CASE("with receives put off it waits in a cycle, unless each direction has a lane of its own") {
  std::string const text = own("interleaved_deferred");
  for (auto lanes : {transfer_lanes::one, transfer_lanes::one_a_peer}) {
    csv_program const read = read_pytorch_comms(text, {.lanes = lanes});
    REQUIRE(read.problems.size() == 1);
    CHECK(read.problems[0].broken == rule::no_cycle_of_waits);
    CHECK(to_string(read.problems[0])
          == "line 2, column 36: '1RECV_F1': instructions must not wait for each other in a cycle, but "
             "this waits for 1SEND_B0 on line 2, column 27, that waits for 0RECV_B0 on line 1, column 36, "
             "that waits for 0SEND_F1 on line 1, column 27, that waits for this");
  }
  CHECK(read_pytorch_comms(text, {.lanes = transfer_lanes::one_a_direction}).value);
}

TEST_CASE("its raw order of 1F1B has the last rank begin with micro-batch 1") {
  csv_program const read = read_pytorch_comms(own("raw_1f1b"));
  REQUIRE(!read.problems.empty());
  CHECK(read.problems[0].broken == rule::every_pass_is_known);
  CHECK(read.problems[0].line == 2);
  CHECK(read.problems[0].token == "1F2");
}
