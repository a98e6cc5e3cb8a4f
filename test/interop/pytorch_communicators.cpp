// Tells with which of PyTorch's communicators programs get stuck: those of its own reports, and ours.
#include "catalog_cases.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/interop/pytorch_comms.hpp>
#include <ashlar/interop/pytorch_lines.hpp>
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>

using namespace ashlar;

namespace {

csv_tokens tokens_of_file(std::string const& text) {
  csv_problems problems(1);
  csv_tokens tokens = read_csv_tokens(text, {}, problems);
  REQUIRE(problems.none());
  return tokens;
}

// Verdicts on one communicator, one for each kind of value, one for each directed edge: + for those that
// a file runs with, - for those with which it gets stuck.
std::string verdicts(std::string const& text) {
  csv_tokens const tokens = tokens_of_file(text);
  std::string all;
  for (pytorch_communicators const& c : all_pytorch_communicators) {
    std::string const why = pytorch_deadlock(tokens, c.lanes);
    CHECK((why.empty() || why.find("waits for") != std::string::npos));
    all += why.empty() ? '+' : '-';
  }
  return all;
}

// The actions of a rank of looped stages, breadth first, with a pass of every micro-batch.
std::string everywhere(int stage, int stages, int micro_batches, bool forward) {
  std::string const name = std::to_string(stage), letter = forward ? "F" : "B";
  bool const is_fed = forward ? stage > 0 : stage + 1 < stages;
  bool const feeds = forward ? stage + 1 < stages : stage > 0;
  std::string line;
  for (int k = 0; k < micro_batches; ++k) {
    std::string const number = std::to_string(k);
    if (is_fed) line += name + "RECV_" + letter + number + ",";
    line += name + letter + number + ",";
    if (feeds) line += name + "SEND_" + letter + number + ",";
  }
  return line;
}

std::string looped_breadth_first(int ranks, int micro_batches) {
  int const stages = 2 * ranks;
  std::string text;
  for (int rank = 0; rank < ranks; ++rank) {
    std::string line;
    for (int stage : {rank, rank + ranks}) line += everywhere(stage, stages, micro_batches, true);
    for (int stage : {rank + ranks, rank}) line += everywhere(stage, stages, micro_batches, false);
    line.back() = '\n';
    text += line;
  }
  return text;
}

}  // namespace

// https://github.com/pytorch/pytorch/issues/172668, of 20 January 2026: both ranks send and then
// receive. The parts that it does not show are filled in here.
TEST_CASE("two ranks that send activations to each other need a communicator for each direction") {
  CHECK(verdicts("0F0,0SEND_F0,0F1,0SEND_F1,2RECV_F0,2F0,2SEND_F0,2RECV_F1,2F1,2SEND_F1,"
                 "2RECV_B0,2B0,2SEND_B0,2RECV_B1,2B1,2SEND_B1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                 "1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,1SEND_F1,3RECV_F0,3F0,3RECV_F1,3F1,"
                 "3B0,3SEND_B0,3B1,3SEND_B1,1RECV_B0,1B0,1SEND_B0,1RECV_B1,1B1,1SEND_B1\n")
        == "--+");
}

// The thread of issue 172668 again, of 21 January 2026: after sends and receives of odd ranks were
// swapped.
TEST_CASE("a gradient behind an activation needs a communicator of its own") {
  CHECK(verdicts("0F0,0SEND_F0,0F1,0SEND_F1,2RECV_F0,2F0,2SEND_F0,2RECV_F1,2F1,2SEND_F1,0F2,0SEND_F2,"
                 "2RECV_B0,2B0,2RECV_B1,2SEND_B0,2RECV_F2,2F2,2SEND_F2,0RECV_B0,2B1,2SEND_B1,0B0,"
                 "2RECV_B2,2B2,0RECV_B1,2SEND_B2,0B1,0RECV_B2,0B2\n"
                 "1RECV_F0,1F0,1RECV_F1,1SEND_F0,1F1,3RECV_F0,3F0,3B0,1SEND_F1,3RECV_F1,3SEND_B0,3F1,"
                 "3B1,1RECV_F2,3SEND_B1,1F2,1SEND_F2,1RECV_B0,1B0,1SEND_B0,3RECV_F2,3F2,3B2,1RECV_B1,"
                 "1B1,3SEND_B2,1SEND_B1,1RECV_B2,1B2,1SEND_B2\n")
        == "-++");
}

// https://github.com/pytorch/pytorch/issues/188833 asks for receives that are put off, which
// PyTorch 2.15 then makes.
TEST_CASE("its interleaved 1F1B with receives put off needs two communicators") {
  std::ifstream file(ASHLAR_TEST_DATA "/pytorch/interleaved_deferred.csv");
  REQUIRE(file);
  CHECK(verdicts({std::istreambuf_iterator<char>(file), {}}) == "-++");
}

// https://github.com/pytorch/pytorch/pull/186173 has two communicators for the group;
// https://github.com/pytorch/pytorch/pull/195760 shows four ranks with eight stages, where a receive is
// queued behind sends. With its two micro-batches it only waits; with four all ranks wait for ever. One
// for each edge, as in https://github.com/pytorch/pytorch/pull/196666, is enough.
TEST_CASE("a ring of ranks needs a communicator for each edge") {
  CHECK(verdicts(looped_breadth_first(4, 2)) == "+++");
  CHECK(verdicts(looped_breadth_first(4, 4)) == "--+");
  std::string const why =
      pytorch_deadlock(tokens_of_file(looped_breadth_first(4, 4)), transfer_lanes::one_a_kind);
  CHECK(why.find("0SEND_F3") != std::string::npos);
}

TEST_CASE("a receive that is issued behind a pass is late, however many communicators there are") {
  // Rank 1 takes the activation of micro-batch 1 only after a gradient that rank 0 makes after its wait.
  std::string const text =
      "0F0,0SEND_F0,0F1,0SEND_F1,0WAIT_SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1,0WAIT_SEND_F0,0REDUCE_GRAD,"
      "0WAIT_REDUCE_GRAD\n"
      "1RECV_F0,1F0,1B0,1SEND_B0,1WAIT_SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1,1WAIT_SEND_B1,1REDUCE_GRAD,"
      "1WAIT_REDUCE_GRAD\n";
  CHECK(verdicts(text) == "---");
}

TEST_CASE("what is lowered runs with all of them") {
  for (catalog_case const& c : catalog_cases({2, 3, 4}, {8})) {
    CAPTURE(c);
    program const lowered = lower(c.schedule());
    if (!pytorch_obstacle(lowered).empty()) continue;
    for (pytorch_communicators const& arrangement : all_pytorch_communicators) {
      CHECK(pytorch_deadlock(lowered, arrangement.lanes) == "");
      program const late =
          lower(c.schedule(), {.lanes = arrangement.lanes, .receives = receive_time::when_needed});
      CHECK(pytorch_deadlock(late, arrangement.lanes) == "");
    }
  }
}
