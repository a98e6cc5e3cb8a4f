// Faults of the CSV with communication are refused with their place and rule.
#include "looped_file.hpp"
#include <ashlar/interop/pytorch_comms.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace ashlar;

namespace {

std::string changed(std::string const& from, std::string const& to) {
  return replaced(looped_file, from, to);
}

// The end of a stage's line in the newest dialect.
std::string ends(int stage) {
  std::string const name = std::to_string(stage);
  return "," + name + "REDUCE_GRAD," + name + "WAIT_REDUCE_GRAD\n";
}

struct wrong_file {
  char const* name;
  std::string text;
  rule broken;
  std::string token;  // of the first problem
  int line;
};

std::vector<wrong_file> wrong_files() {
  std::string const swapped =
      changed("2RECV_F0,2F0,2RECV_F1,2SEND_F0", "2RECV_F1,2RECV_F0,2F0,2SEND_F0");
  return {
      {"doubled forward", changed("2F1,", "2F1,2F1,"), rule::no_pass_is_doubled, "2F1", 1},
      {"doubled backward", changed("0B1,", "0B1,0B1,"), rule::no_pass_is_doubled, "0B1", 1},
      {"out of range", changed("2F1,", "2F7,"), rule::every_pass_is_known, "2F7", 1},
      {"transfer out of range", changed("2RECV_F1", "2RECV_F7"), rule::every_pass_is_known, "2RECV_F7",
       1},
      {"B and I and W", changed("2W0,", "2W0,2B0,"), rule::backward_is_fused_or_split, "2B0", 1},
      {"B and W", changed("0B1,", "0B1,0W1,"), rule::backward_is_fused_or_split, "0W1", 1},
      {"lost pass", changed("2F1,", ""), rule::every_pass_is_present, "2F1", 1},
      {"lost receive", changed("2RECV_F1,", ""), rule::every_send_has_its_receive, "1SEND_F1", 2},
      {"lost send", changed("0SEND_F1,", ""), rule::every_receive_has_its_send, "1RECV_F1", 2},
      {"lost transfer", replaced(changed("0SEND_F1,", ""), "1RECV_F1,", ""),
       rule::every_send_has_its_receive, "0SEND_F1", 1},
      {"swapped receives", swapped, rule::sends_and_receives_have_the_same_order, "1SEND_F0", 2},
      {"head-on sends", changed("1RECV_F1,1SEND_F0,1F1", "1SEND_F0,1RECV_F1,1F1"),
       rule::no_cycle_of_waits, "", 0},
      {"doubled send", changed("0SEND_F1,", "0SEND_F1,0SEND_F1,"), rule::no_transfer_is_doubled,
       "0SEND_F1", 1},
      {"doubled receive", changed("2RECV_F1,", "2RECV_F1,2RECV_F1,"), rule::no_transfer_is_doubled,
       "2RECV_F1", 1},
      {"late receive", changed("2RECV_F1,2SEND_F0,2F1", "2SEND_F0,2F1,2RECV_F1"),
       rule::no_pass_starts_before_its_input, "2F1", 1},
      {"hasty send", changed("0F1,0SEND_F1", "0SEND_F1,0F1"), rule::no_pass_starts_before_its_input,
       "0SEND_F1", 1},
      {"weight before input", changed("2I0,2RECV_B1,2SEND_B0,2W0", "2W0,2I0,2RECV_B1,2SEND_B0"),
       rule::no_pass_starts_before_its_input, "2W0", 1},
      {"no reduction", changed("2REDUCE_GRAD,", ""), rule::gradient_is_reduced_once, "2REDUCE_GRAD", 1},
      {"two reductions", changed("2REDUCE_GRAD,", "2REDUCE_GRAD,2REDUCE_GRAD,"),
       rule::gradient_is_reduced_once, "2REDUCE_GRAD", 1},
      {"early reduction", changed("0B1,0REDUCE_GRAD", "0REDUCE_GRAD,0B1"),
       rule::gradient_is_reduced_after_its_last_weight_pass, "0REDUCE_GRAD", 1},
      {"sharded weights", changed("0UNSHARD,", ""), rule::weights_are_resident_when_used, "0F0", 1},
      {"released weights",
       replaced(changed("0REDUCE_GRAD,0RESHARD", "0REDUCE_GRAD"), "0RECV_B0", "0RESHARD,0RECV_B0"),
       rule::weights_are_resident_when_used, "0B0", 1},
      {"gathered twice", changed("0UNSHARD,", "0UNSHARD,0UNSHARD,"), rule::gathered_weights_are_given_up,
       "0UNSHARD", 1},
      {"never released", changed(",0RESHARD", ""), rule::gathered_weights_are_given_up, "0UNSHARD", 1},
      {"gathered in vain", changed("0UNSHARD,", "0UNSHARD,0RESHARD,0UNSHARD,"),
       rule::gathered_weights_are_used, "0UNSHARD", 1},
      {"stage on two ranks", replaced(changed("2F1,", ""), "3F1,", "3F1,2F1,"),
       rule::every_stage_has_one_owner, "2F1", 2},
      {"transfer on another rank", replaced(changed("2RECV_F1,", ""), "3F1,", "3F1,2RECV_F1,"),
       rule::every_stage_has_one_owner, "2RECV_F1", 2},
      {"transfer to nowhere", changed("0B1,", "0B1,0SEND_B1,"), rule::every_pass_is_known, "0SEND_B1",
       1},
      {"local transfer", "0F0,0SEND_F0,1RECV_F0,1F0,1B0,0B0\n", rule::transfers_lead_to_another_device,
       "0SEND_F0", 1},
      {"recompute", "0F0,0R0,0B0,0REDUCE_GRAD\n", rule::every_pass_is_known, "0R0", 1},
      {"send without its wait",
       "0F0,0SEND_F0,0RECV_B0,0B0" + ends(0) + "1RECV_F0,1F0,1B0,1SEND_B0,1WAIT_SEND_B0" + ends(1),
       rule::every_start_has_its_wait, "0SEND_F0", 1},
      {"wait before its send",
       "0F0,0WAIT_SEND_F0,0SEND_F0,0RECV_B0,0B0" + ends(0) + "1RECV_F0,1F0,1B0,1SEND_B0" + ends(1),
       rule::every_start_has_its_wait, "0WAIT_SEND_F0", 1},
      {"pair that needs itself", "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,(1F0;1B0)OVERLAP_F_B,1SEND_B0\n",
       rule::overlapped_passes_are_a_pair, "1F0", 2},
  };
}

}  // namespace

TEST_CASE("a wrong file is refused with its place and rule") {
  for (wrong_file const& wrong : wrong_files()) {
    CAPTURE(wrong.name);
    csv_program const read = read_pytorch_comms(wrong.text);
    CHECK(!read.value);
    REQUIRE(!read.problems.empty());
    CAPTURE(to_string(read.problems[0]));
    CHECK(read.problems[0].broken == wrong.broken);
    if (!wrong.token.empty()) CHECK(read.problems[0].token == wrong.token);
    if (wrong.line > 0) CHECK(read.problems[0].line == wrong.line);
  }
}

TEST_CASE("of a stage on a second rank only its first token is told") {
  csv_program const read = read_pytorch_comms(changed("1F0,1RECV_F1,", "1F0,0F0,0F1,0B0,1RECV_F1,"));
  int told = 0;
  for (csv_problem const& p : read.problems) told += p.broken == rule::every_stage_has_one_owner;
  CHECK(told == 1);
}

TEST_CASE("an action on a whole stage has no micro-batch") {
  csv_program const read = read_pytorch_comms(changed("2UNSHARD", "2UNSHARD1"));
  REQUIRE(!read.problems.empty());
  CHECK(read.problems[0].token == "2UNSHARD1");
  CHECK(read.problems[0].message.find("UNSHARD must not have a micro-batch") != std::string::npos);
}

TEST_CASE("a problem says what is in its way, and where") {
  struct told {
    std::string text;
    std::string problem;
  };
  std::string const pair = "0F0,0SEND_F0,0RECV_B0,0BW0\n1RECV_F0,(1F0;1BW0)OVERLAP_F_B,1SEND_B0\n";
  for (told const& t : {
           told{changed("2RECV_F1,", ""),
                "line 2, column 54: '1SEND_F1': every send must have its receive on the peer, but "
                "2RECV_F1 on line 1 is missing"},
           told{replaced(changed("0SEND_F1,", ""), "1RECV_F1,", ""),
                "line 1: '0SEND_F1': every send must have its receive on the peer, but it is missing, "
                "and so is 1RECV_F1 on line 2"},
           told{changed("2F0,2RECV_F1,2SEND_F0", "2SEND_F0,2F0,2RECV_F1"),
                "line 1, column 54: '2SEND_F0': no pass may start before its inputs have arrived, but "
                "2F0 on line 1, column 63 comes later"},
           told{changed("2RECV_F1,2SEND_F0,2F1", "2SEND_F0,2F1,2RECV_F1"),
                "line 1, column 67: '2F1': no pass may start before its inputs have arrived, but "
                "2RECV_F1 on line 1, column 71 comes later"},
           told{changed("0B1,0REDUCE_GRAD", "0REDUCE_GRAD,0B1"),
                "'0REDUCE_GRAD': a gradient must be reduced after the last pass that adds to it, but "
                "0B1 on line 1, column 194 comes later"},
           told{changed("2REDUCE_GRAD,", ""),
                "line 1: '2REDUCE_GRAD': every stage's gradient must be reduced exactly once on each "
                "replica, but it is missing"},
           told{changed("0UNSHARD,", ""), "but there is no 0UNSHARD before it"},
           told{replaced(changed("0REDUCE_GRAD,0RESHARD", "0REDUCE_GRAD"), "0RECV_B0",
                         "0RESHARD,0RECV_B0"),
                "but they are given up by 0RESHARD on line 1, column 159"},
           told{changed("0UNSHARD,", "0UNSHARD,0UNSHARD,"),
                "column 10: '0UNSHARD': gathered weights must be given up exactly once, before they are "
                "gathered again and by the end of the step, but they are there since 0UNSHARD on line "
                "1, column 1"},
           told{changed("0UNSHARD,", "0UNSHARD,0RESHARD,0UNSHARD,"),
                "but nothing uses them until 0RESHARD on line 1, column 10"},
           told{pair,
                "line 2, column 11: '1F0': a forward and the backward that it overlaps must be "
                "neighbours that start together and do not depend on each other, but 1BW0 on line 2, "
                "column 15 needs what it "
                "gives"},
           told{"0F0,(0F1;0B0)OVERLAP_F_B,0W0,0BW1\n",
                "line 1, column 6: '0F1': a forward and the backward that it overlaps must be "
                "neighbours that start together and do not depend on each other, but 0B0 on line 1, "
                "column 10 is half a "
                "backward"},
           told{"0F0,0SEND_F0,0RECV_B0\n1RECV_F0,1F0,1SEND_B0\n",
                "line 1, column 14: '0RECV_B0': every value must have been read by the end of the step, "
                "but nothing on this line uses this one"},
           told{"0F0,0SEND_F0\n1RECV_F0,1F0,1REDUCE_GRAD\n",
                "exactly once on each replica, but a file of forwards alone has no gradients"},
       }) {
    CAPTURE(t.problem);
    csv_program const read = read_pytorch_comms(t.text);
    REQUIRE(!read.problems.empty());
    CAPTURE(to_string(read.problems[0]));
    CHECK(to_string(read.problems[0]).find(t.problem) != std::string::npos);
  }
}

TEST_CASE("a file with communication has no idle slots") {
  std::string const file = "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n";
  REQUIRE(read_pytorch_comms(file).value);
  csv_program const read = read_pytorch_comms(replaced(file, "1F0,", "1F0,,"));
  CHECK(!read.value);
  REQUIRE(read.problems.size() == 1);
  CHECK(read.problems[0].line == 2);
  CHECK(read.problems[0].column == 14);
}

TEST_CASE("a send is waited for once") {
  std::string const file = "0F0,0SEND_F0,0WAIT_SEND_F0,0RECV_B0,0B0" + ends(0)
                           + "1RECV_F0,1F0,1B0,1SEND_B0,1WAIT_SEND_B0" + ends(1);
  REQUIRE(read_pytorch_comms(file).value);
  for (char const* wait : {"0WAIT_SEND_F0", "1WAIT_SEND_B0"}) {
    csv_program const read = read_pytorch_comms(replaced(file, wait, std::string(wait) + "," + wait));
    CHECK(!read.value);
    REQUIRE(read.problems.size() == 1);
    CHECK(read.problems[0].token == wait);
    CHECK(read.problems[0].broken == rule::every_start_has_its_wait);
  }
}
