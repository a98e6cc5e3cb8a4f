// The CSV with communication is read again after it is written, and proved.
#include "catalog_cases.hpp"
#include "looped_file.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/interop/pytorch_comms.hpp>
#include <ashlar/interop/pytorch_csv.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/schedule/compose.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace ashlar;

namespace {

constexpr csv_dialect dialects[] = {csv_dialect::b_bw, csv_dialect::i_b, csv_dialect::reduce_grad,
                                    csv_dialect::waits};

// The words of a program without its buffers, but for these instructions.
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

}  // namespace

TEST_CASE("written and read again, every catalog entry's program is the same in every dialect") {
  for (catalog_case const& c : catalog_cases({1, 2, 4}, {8}))
    for (csv_dialect dialect : dialects) {
      CAPTURE(c);
      program const lowered = lower(c.schedule());
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

TEST_CASE("programs whose ranks share: gathers, releases, one reduction a stage, without optimizer") {
  for (catalog_case const& c : catalog_cases({2}, {4}))
    for (csv_dialect dialect : dialects)
      for (auto level : {sharding_level::optimizer, sharding_level::weights, sharding_level::full}) {
        CAPTURE(c);
        program const p = lower(c.schedule(), {.data_ranks = 2, .sharding = level});
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
        // The file does not say either where gradients are cleared, or sum over one owner.
        std::vector<opcode> unsaid = {opcode::clear, opcode::all_reduce};
        if (!reduces) unsaid.push_back(opcode::reduce_scatter);
        CHECK(words_of(*back.value, unsaid) == words_of(p, unsaid));
        std::size_t const waits = dialect == csv_dialect::waits ? 2 : 1;
        CHECK(count("REDUCE_GRAD") == (reduces ? waits * static_cast<std::size_t>(p.stage_count()) : 0));
      }
  schedule const s = catalog::find_any("depth-first")->make({devices{2}, micro_batches{4}});
  lower_options o{.data_ranks = 2, .sharding = sharding_level::full};
  CHECK(pytorch_obstacle(lower(s, o)).find("more than once") != std::string::npos);
  // Where chunks take turns, gradients have to stay whole.
  for (char const* name : {"depth-first", "v-half", "interleaved-zb", "zbv"}) {
    schedule const turns = catalog::find_any(name)->make({devices{2}, micro_batches{4}});
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
          == words_of(lower(catalog::find_any("inference")->make({devices{2}, micro_batches{2}}))));
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
  schedule const down = catalog::find_any("1f1b")->make({devices{2}, micro_batches{2}});
  CHECK(pytorch_obstacle(lower(down)).empty());
  CHECK(pytorch_obstacle(lower(squeeze(merge(down, mirror(down))))).find("one owner")
        != std::string::npos);
  csv_schedule const late = read_pytorch_csv("0F0,0F1,0B0,0B1\n1F1,1F0,1B0,1B1\n");
  REQUIRE(late.value);
  CHECK(pytorch_obstacle(lower(*late.value)).find("out of turn") != std::string::npos);
  schedule skipping = catalog::find_any("gpipe")->make({devices{3}, micro_batches{1}});
  skipping.graph = stage_graph(stages{3}, {{0, 1}, {0, 2}, {1, 2}});
  CHECK(pytorch_obstacle(lower(squeeze(skipping))).find("not a chain") != std::string::npos);
  for (char const* shared : {"vocab-1", "vocab-2", "interlaced"}) {
    schedule const s = catalog::find_any(shared)->make({devices{2}, micro_batches{2}});
    CHECK(pytorch_obstacle(lower(s)).find("not a chain") != std::string::npos);
  }
  schedule sized = catalog::find_any("gpipe")->make({devices{2}, micro_batches{2}});
  sized.graph = in_micro_batches(sized.graph, {2, 1});
  std::erase_if(sized.order[0], [](time_slot const& t) { return t.what.micro_batch == 1; });
  CHECK(pytorch_obstacle(lower(squeeze(sized))).find("different sizes") != std::string::npos);
  schedule const pieces = catalog::find_any("seq1f1b")->make({devices{2}, micro_batches{2}});
  CHECK(pytorch_obstacle(lower(pieces)).find("come in chunks") != std::string::npos);
  csv_schedule const again = read_pytorch_csv("0F0,0R0,0B0\n");
  REQUIRE(again.value);
  CHECK(pytorch_obstacle(lower(*again.value)).find("0R0") != std::string::npos);
}
