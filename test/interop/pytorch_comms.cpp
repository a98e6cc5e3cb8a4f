// The CSV with communication: what is written is read again and proved; what is wrong is refused with
// its place and rule; nothing that is read ever fails in another way.
#include "looped_file.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/interop/pytorch_comms.hpp>
#include <ashlar/interop/pytorch_csv.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/compose.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace ashlar;

namespace {

constexpr csv_dialect dialects[] = {csv_dialect::b_bw, csv_dialect::i_b, csv_dialect::reduce_grad,
                                    csv_dialect::waits};

// What a program says without its buffers, but for these instructions.
std::vector<std::string> words_of(program const& p, std::vector<opcode> const& unsaid = {}) {
  std::vector<std::string> words;
  for (int d = 0; d < p.device_count(); ++d)
    for (instruction const& i : p.view().stream(d))
      if (std::find(unsaid.begin(), unsaid.end(), i.code) == unsaid.end()) {
        // A gradient that travels does not tell whether a fused backward made it.
        instruction of = i;
        if (of.code != opcode::compute && of.what.kind == pass_kind::backward)
          of.what.kind = pass_kind::backward_input;
        words.push_back(std::to_string(d) + " " + to_string(of));
      }
  return words;
}

std::string replaced(std::string text, std::string const& from, std::string const& to) {
  std::size_t const at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}
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

TEST_CASE("written and read again, every catalog entry's program is the same in every dialect") {
  for (auto const& entry : catalog::entries)
    for (csv_dialect dialect : dialects)
      for (int p : {1, 2, 4}) {
        CAPTURE(entry.name);
        catalog::shape const shape{.p = devices{p}, .m = micro_batches{8}};
        if (!entry.check(shape).ok()) continue;
        program const lowered = lower(entry.make(shape));
        if (!pytorch_obstacle(lowered).empty()) continue;
        csv_program const back =
            read_pytorch_comms(pytorch_comms_csv(lowered, dialect), {.dialect = dialect});
        REQUIRE(back.problems.empty());
        REQUIRE(back.value);
        CHECK(check(*back.value).ok());
        for (int stage = 0; stage < lowered.stage_count(); ++stage)  // as PyTorch has no other routes
          CHECK(back.value->where.device_of(back.value->route[0], stage)
                == lowered.where.device_of(lowered.route[0], stage));
        bool const reduces = dialect == csv_dialect::reduce_grad || dialect == csv_dialect::waits;
        std::vector<opcode> unsaid;
        if (!reduces) unsaid = {opcode::all_reduce};
        CHECK(words_of(*back.value, unsaid) == words_of(lowered, unsaid));
      }
}

TEST_CASE("the dialect is told by its words") {
  CHECK(read_pytorch_comms(looped_file).dialect == csv_dialect::reduce_grad);
  CHECK(read_pytorch_comms(looped_file).value);
  std::string const pair = "0F0,0SEND_F0,0RECV_B0,0BW0\n1RECV_F0,1F0,1B0,1SEND_B0,1W0\n";
  CHECK(read_pytorch_comms(pair).dialect == csv_dialect::b_bw);
  CHECK(read_pytorch_comms(pair).value);
  csv_program const other = read_pytorch_comms(pair, {.dialect = csv_dialect::i_b});
  REQUIRE(!other.problems.empty());
  CHECK(other.problems[0].token == "0BW0");
  // In the oldest dialect a B without a W is the whole backward.
  std::string const whole = "0F0,0B0,0F1,0BW1\n";
  csv_schedule const read = read_pytorch_csv(whole);
  REQUIRE(read.value);
  CHECK(read.value->order[0][1].what.kind == pass_kind::backward);
}

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
                "line 2, column 11: '1F0': a forward and the backward that it overlaps must stand and "
                "start together, independent of each other, but 1BW0 on line 2, column 15 needs what it "
                "gives"},
           told{"0F0,(0F1;0B0)OVERLAP_F_B,0W0,0BW1\n",
                "line 1, column 6: '0F1': a forward and the backward that it overlaps must stand and "
                "start together, independent of each other, but 0B0 on line 1, column 10 is half a "
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

TEST_CASE("programs whose ranks share: gathers, releases, one reduction a stage, without optimizer") {
  for (auto const& entry : catalog::entries)
    for (csv_dialect dialect : dialects)
      for (auto level : {sharding_level::optimizer, sharding_level::weights, sharding_level::full}) {
        CAPTURE(entry.name);
        catalog::shape const shape{.p = devices{2}, .m = micro_batches{4}};
        if (!entry.check(shape).ok()) continue;
        program const p = lower(entry.make(shape), {.data_ranks = 2, .sharding = level});
        if (!pytorch_obstacle(p).empty()) continue;
        std::string const text = pytorch_comms_csv(p, dialect);
        csv_program const back = read_pytorch_comms(text, {.dialect = dialect});
        REQUIRE(back.problems.empty());
        REQUIRE(back.value);
        CHECK(back.value->sharding != sharding_level::none);
        auto const count = [&](std::string const& word) {
          std::size_t found = 0;
          for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
            ++found;
          return found;
        };
        std::size_t gathers = 0;
        for (instruction const& i : p.instructions) gathers += i.code == opcode::all_gather;
        CHECK(gathers > 0);
        CHECK(count("UNSHARD") == gathers);
        CHECK(count("RESHARD") == gathers);
        bool const reduces = dialect == csv_dialect::reduce_grad || dialect == csv_dialect::waits;
        // Nor does the file say where gradients are cleared, or sum over one owner.
        std::vector<opcode> unsaid = {opcode::clear, opcode::all_reduce};
        if (!reduces) unsaid.push_back(opcode::reduce_scatter);
        CHECK(words_of(*back.value, unsaid) == words_of(p, unsaid));
        std::size_t const waits = dialect == csv_dialect::waits ? 2 : 1;
        CHECK(count("REDUCE_GRAD") == (reduces ? waits * static_cast<std::size_t>(p.stage_count()) : 0));
      }
  schedule const s = catalog::find("depth-first")->make({devices{2}, micro_batches{4}});
  lower_options o{.data_ranks = 2, .sharding = sharding_level::full};
  CHECK(pytorch_obstacle(lower(s, o)).find("more than once") != std::string::npos);
  // Where chunks take turns, gradients have to stay whole.
  for (char const* name : {"depth-first", "v-half", "interleaved-zb", "zbv"}) {
    schedule const turns = catalog::find(name)->make({devices{2}, micro_batches{4}});
    o = {.data_ranks = 2, .sharding = sharding_level::weights};
    program const weights = lower(turns, o);
    CHECK(pytorch_obstacle(weights) == "");
    CHECK(count_slots(weights.view(), 0, slot_kind::weight) == 1);
    CHECK(read_pytorch_comms(pytorch_comms_csv(weights)).value);
  }
  o = {.step = optimizer_step::at_end};
  CHECK(pytorch_obstacle(lower(s, o)).find("training loop") != std::string::npos);
}

TEST_CASE("forwards alone are a file for inference") {
  std::string const file = "0F0,0SEND_F0,0F1,0SEND_F1\n1RECV_F0,1F0,1RECV_F1,1F1\n";
  for (csv_dialect dialect : dialects) {
    bool const waits = dialect == csv_dialect::waits;
    csv_program const read = read_pytorch_comms(
        waits ? replaced(file, "\n", ",0WAIT_SEND_F0,0WAIT_SEND_F1\n") : file, {.dialect = dialect});
    REQUIRE(read.value);
    CHECK(read.value->mode == execution_mode::inference);
    CHECK(words_of(*read.value)
          == words_of(lower(catalog::find("inference")->make({devices{2}, micro_batches{2}}))));
  }
  auto const broken = [&](std::string const& from, std::string const& to) {
    csv_program const read = read_pytorch_comms(replaced(file, from, to));
    REQUIRE(!read.problems.empty());
    return read.problems[0].broken;
  };
  CHECK(broken(",0SEND_F1", "") == rule::every_receive_has_its_send);
  CHECK(broken("1F1", "1F1,1SEND_B1") == rule::every_send_has_its_receive);
  CHECK(broken("1F1", "1F1,1REDUCE_GRAD") == rule::gradient_is_reduced_once);
  CHECK(broken("1F1", "1F1,1B1") == rule::every_pass_is_present);
}

TEST_CASE("an overlapped pair runs where both have their inputs") {
  std::string const pair =
      "0F0,0SEND_F0,0RECV_B0,(0F1;0B0)OVERLAP_F_B,0SEND_F1,0RECV_B1,0B1\n"
      "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n";
  CHECK(read_pytorch_comms(pair).value);
}

TEST_CASE("what PyTorch cannot run has its reason") {
  schedule const down = catalog::find("1f1b")->make({devices{2}, micro_batches{2}});
  CHECK(pytorch_obstacle(lower(down)).empty());
  CHECK(pytorch_obstacle(lower(squeeze(merge(down, mirror(down))))).find("one owner")
        != std::string::npos);
  csv_schedule const late = read_pytorch_csv("0F0,0F1,0B0,0B1\n1F1,1F0,1B0,1B1\n");
  REQUIRE(late.value);
  CHECK(pytorch_obstacle(lower(*late.value)).find("out of turn") != std::string::npos);
  schedule skipping = catalog::find("gpipe")->make({devices{3}, micro_batches{1}});
  skipping.graph = stage_graph(stages{3}, {{0, 1}, {0, 2}, {1, 2}});
  CHECK(pytorch_obstacle(lower(squeeze(skipping))).find("no chain") != std::string::npos);
  schedule const pieces = catalog::find("seq1f1b")->make({devices{2}, micro_batches{2}});
  CHECK(pytorch_obstacle(lower(pieces)).find("come in chunks") != std::string::npos);
  csv_schedule const again = read_pytorch_csv("0F0,0R0,0B0\n");
  REQUIRE(again.value);
  CHECK(pytorch_obstacle(lower(*again.value)).find("0R0") != std::string::npos);
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
