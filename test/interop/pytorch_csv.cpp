// The compute-only CSV is read again after it is written, and faults are refused with their place and
// rule.
#include "catalog_cases.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/interop/pytorch_csv.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/compose.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace ashlar;

TEST_CASE("PyTorch's CSV: blanks and quotes around cells, as Python's csv module has them") {
  schedule const plain = *read_pytorch_csv("0F0,0F1,,0B0,0B1\n1F0,1B0,1F1,1B1\n").value;
  for (char const* first : {"0F0, 0F1,\"\",0B0 ,\t0B1", "\"0F0\",\" 0F1\", ,\"0B0\",0B1"}) {
    csv_schedule const wrapped = read_pytorch_csv(std::string(first) + "\n1F0,1B0,1F1,1B1\n");
    REQUIRE(wrapped.value);
    CHECK(*wrapped.value == plain);
  }
}

namespace {

// PyTorch has a word for pairs with fused backwards alone: the passes of others come apart.
schedule in_words(schedule s) {
  for (auto& order : s.order) {
    std::vector<time_slot> said;
    for (time_slot const& t : order)
      if (t.is_pair() && t.beside.kind != pass_kind::backward)
        said.insert(said.end(), {time_slot(t.what), time_slot(t.beside)});
      else
        said.push_back(t);
    order = said;
  }
  return s;
}

}  // namespace

TEST_CASE("written and read again, a schedule is the same, but for pairs without a word") {
  for (catalog_case const& c : catalog_cases({1, 2, 3, 4, 5, 6}, {1, 2, 5, 12})) {
    CAPTURE(c);
    schedule const s = c.schedule();
    csv_schedule const back = read_pytorch_csv(pytorch_csv(s));
    REQUIRE(back.value);
    CHECK(back.problems.empty());
    CHECK(back.value->mode == s.mode);
    CHECK(back.value->order == retime(in_words(s), costs{}).order);
    for (int k = 0; k < s.micro_batch_count(); ++k)  // a route that none takes is not in the file
      for (int stage = 0; stage < s.stage_count(); ++stage)
        CHECK(back.value->device_of({pass_kind::forward, stage, k})
              == s.device_of({pass_kind::forward, stage, k}));
    CHECK(check(*back.value).ok());
  }
}

TEST_CASE("line ends: LF, CRLF, none at the end") {
  for (char const* text :
       {"0F0,0B0\n1F0,1B0\n", "0F0,0B0\r\n1F0,1B0\r\n", "0F0,0B0\n1F0,1B0", "0F0,0B0\r\n1F0,1B0"})
    CHECK(read_pytorch_csv(text).value);
}

TEST_CASE("routes are found where micro-batches go both ways") {
  schedule const down = catalog::find("1f1b")->make({devices{4}, micro_batches{4}});
  schedule const both = squeeze(merge(down, mirror(down)));
  csv_schedule const back = read_pytorch_csv(pytorch_csv(both));
  REQUIRE(back.value);
  CHECK(back.value->where.route_count() == 2);
  CHECK(back.value->route == both.route);
  CHECK(*back.value == both);
}

TEST_CASE("empty cells are idle slots, which change nothing") {
  csv_schedule const idle = read_pytorch_csv("0F0,,0B0,\n,1F0,1B0\n");
  REQUIRE(idle.value);
  CHECK(*idle.value == *read_pytorch_csv("0F0,0B0\n1F0,1B0\n").value);
  CHECK(!read_pytorch_csv(",,\n,\n").value);
  csv_problems problems(1);
  CHECK(read_csv_tokens("0F0,,0B0,\n,1F0,1B0\n", {}, problems).idle_slots == 3);
}

namespace {

struct bad_file {
  char const* name;
  std::string text;
  int line;
  int column;
  char const* token;
  char const* rule;
};

std::vector<bad_file> bad_files() {
  return {
      {"nothing at all", "", 1, 0, "", "this one is empty"},
      {"unknown kind", "0F0,0Q0\n", 1, 5, "0Q0", "unknown token"},
      {"no stage", "F0\n", 1, 1, "F0", "unknown token"},
      {"no micro-batch", "0F0,0B\n", 1, 5, "0B", "unknown token"},
      {"small letter", "0f0,0b0\n", 1, 1, "0f0", "unknown token"},
      {"more behind", "0F0x,0B0\n", 1, 1, "0F0x", "unknown token"},
      {"minus", "-1F0,0B0\n", 1, 1, "-1F0", "unknown token"},
      {"not ours", "0X0\n", 1, 1, "0X0", "unknown token"},
      {"communication", "0F0,0SEND_F0,0B0\n", 1, 5, "0SEND_F0", "passes only"},
      {"torn pair", "(0F1;0B0)OVERLAP\n", 1, 1, "(0F1;0B0)OVERLAP", "must be a forward and a backward"},
      {"pair the wrong way", "0F0,(0B0;0F1)OVERLAP_F_B,0B1\n", 1, 5, "(0B0;0F1)OVERLAP_F_B",
       "a forward and then a whole backward"},
      {"pair with half a backward", "0F0,(0F1;0I0)OVERLAP_F_B,0W0,0I1,0W1\n", 1, 5,
       "(0F1;0I0)OVERLAP_F_B", "a forward and then a whole backward"},
      {"pair of one micro-batch", "(0F0;0B0)OVERLAP_F_B\n", 1, 2, "0F0", "the other pass"},
      {"two dialects", "0F0,0I0,0W0,0F1,0BW1\n", 1, 5, "0I0", "of one dialect"},
      {"micro-batch out of range", "0F0,0F5,0B0,0B1\n", 1, 5, "0F5", "no stage runs more than 2"},
      {"first micro-batch out of range", "0F0,0F2,0B0,0B1\n", 1, 5, "0F2", "should be 1"},
      {"semicolons", "0F0;0B0\n", 1, 1, "0F0;0B0", "separated by commas"},
      {"tabs", "0F0\t0B0\n", 1, 1, "0F0?0B0", "blanks"},
      {"blank in a token", "0F0, 0 B0\n", 1, 6, "0 B0", "blanks"},
      {"quotes inside blanks", "0F0, \"0B0\"\n", 1, 6, "\"0B0\"", "unknown token"},
      {"half a quotation", "\"0F0,0B0\"\n", 1, 1, "\"0F0", "unknown token"},
      {"a pass that is not there, after blanks and a quote", "0F0,\"  0X0\"\n", 1, 8, "0X0",
       "unknown token"},
      {"only empty cells", ",,\n,\n", 1, 0, "", "at least one pass"},
      {"empty line between", "0F0,0B0\n\n1F0,1B0\n", 2, 0, "", "this one is empty"},
      {"empty line at the end", "0F0,0B0\n1F0,1B0\n\n", 3, 0, "", "this one is empty"},
      {"lone carriage return", "0F0,0B0\r", 1, 5, "0B0?", "unknown token"},
      {"byte order mark",
       "\xEF\xBB\xBF"
       "0F0,0B0\n",
       1, 1,
       "\xEF\xBB\xBF"
       "0F0",
       "unknown token"},
      {"needless zero", "00F0,0B0\n", 1, 1, "00F0", "needless 0"},
      {"number too large", "99999999999999999999F0,0B0\n", 1, 1, "99999999999999999999F0",
       "no more than 999999999"},
      {"micro-batch too large", "0F4294967296,0B0\n", 1, 1, "0F4294967296", "no more than 999999999"},
      {"number without its passes", "0F0,0B0,999999999F0\n", 1, 9, "999999999F0", "1000000000 stages"},
      {"micro-batches without their passes", "0F0,0B0,0F999999999\n", 1, 9, "0F999999999",
       "1000000000 micro-batches"},
      {"doubled pass", "0F0,0F0,0B0\n", 1, 5, "0F0", "no pass may run twice"},
      {"two owners", "0F0,0F1,0B0\n1F0,1B0,1F1,1B1,0B1\n", 2, 17, "0B1", "one owner"},
      {"fused and split", "0F0,0B0,0I0,0W0\n", 1, 9, "0I0", "fused or split"},
      {"weight without input", "0F0,0W0\n", 1, 0, "0I0", "missing"},
      {"input without weight", "0F0,0I0\n", 1, 0, "0W0", "missing"},
      {"fused, and a weight", "0F0,0B0,0W0\n", 1, 9, "0W0", "fused or split"},
      {"no forward", "0F0,0B0\n1B0\n", 2, 0, "1F0", "missing"},
      {"no backward", "0F0,0B0\n1F0\n", 2, 0, "1B0", "missing"},
      {"stage skipped", "0F0,0B0\n2F0,2B0\n", 1, 0, "1F0", "missing"},
      {"backward first", "0B0,0F0\n", 1, 1, "0B0", "wait for each other"},
      {"cycle between devices", "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n", 1, 5, "0B0", "cycle"},
      {"routes without end", "0F0,0B0,0F1,0B1,1F1,1B1,1F2,1B2\n1F0,1B0,0F2,0B2\n", 1, 0, "",
       "no more routes than devices"},
  };
}

}  // namespace

TEST_CASE("a wrong file is refused with line, column, token and rule") {
  for (bad_file const& bad : bad_files()) {
    CAPTURE(bad.name);
    csv_schedule const read = read_pytorch_csv(bad.text);
    CHECK(!read.value);
    REQUIRE(!read.problems.empty());
    csv_problem const& first = read.problems[0];
    CHECK(first.line == bad.line);
    CHECK(first.column == bad.column);
    CHECK(first.token == bad.token);
    CAPTURE(first.message);
    CHECK(first.message.find(bad.rule) != std::string::npos);
  }
}

TEST_CASE("the first five problems are told, in the order of the file") {
  std::string const text = "0F0,0Q0, 0 B0\n\n1F0;1B0\nx,y,z\n";
  csv_schedule const read = read_pytorch_csv(text);
  REQUIRE(read.problems.size() == 5);
  std::vector<int> lines;
  for (csv_problem const& p : read.problems) lines.push_back(p.line);
  CHECK(lines == std::vector<int>{1, 1, 2, 3, 4});
  CHECK(read_pytorch_csv(text, {.most_problems = 2}).problems.size() == 2);
  CHECK(to_string(read.problems[0]).starts_with("line 1, column 5: '0Q0': unknown token"));
}

// No byte of a good file may be changed so that reading it fails in any other way than with a problem.
TEST_CASE("any change of a byte is read or refused, never worse") {
  std::string const good = pytorch_csv(catalog::find("v-half")->make({devices{2}, micro_batches{2}}));
  for (std::size_t i = 0; i < good.size(); ++i)
    for (char c : std::string("019FIWBR,;\n\r \0\xff", 15)) {
      std::string changed = good;
      changed[i] = c;
      csv_schedule const read = read_pytorch_csv(changed);
      CHECK(read.value.has_value() == read.problems.empty());
      if (read.value) CHECK(check(*read.value).ok());
    }
}

// This would take a minute if every micro-batch were compared with every route.
TEST_CASE("a file of many lines, each with a micro-batch of its own") {
  std::string text;
  for (int k = 0; k < 100'000; ++k) text += "0F" + std::to_string(k) + "\n";
  csv_schedule const read = read_pytorch_csv(text);
  REQUIRE(read.value);
  CHECK(read.value->where.route_count() == 100'000);
}
