// Dumps of PyTorch's flight recorder, as JSON and as pickles.
#include <ashlar/interop/json_flight_record.hpp>
// The header above comes first: it needs nothing before it.
#include "refused_text.hpp"
#include <ashlar/interop/json_pickle.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

using namespace ashlar;
using namespace std::string_literals;

namespace {

// A dump with one entry, in which `from` is replaced by `to`.
std::string dump_with(std::string const& from = "", std::string const& to = "") {
  std::string text =
      R"({"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[3, 5]"}},
    "entries": [{"record_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 0, "p2p_seq_id": 1,
      "profiling_name": "nccl:send 0->1", "is_p2p": true, "input_sizes": [[2, 8]], "input_dtypes": ["Float"],
      "output_sizes": [[2, 8]], "output_dtypes": ["Float"], "state": "scheduled", "retired": false,
      "time_created_ns": 7, "frames": [
        {"name": "isend", "filename": "/lib/torch/distributed/distributed_c10d.py", "line": 10},
        {"name": "_batch_p2p", "filename": "/lib/torch/distributed/pipelining/schedules.py", "line": 644},
        {"name": "step", "filename": "/lib/torch/distributed/pipelining/schedules.py", "line": 700},
        {"name": "main", "filename": "/mine/train.py", "line": 40},
        {"name": "<module>", "filename": "/mine/train.py", "line": 50}]}]})";
  if (!from.empty()) {
    auto const at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
  }
  return text;
}

void refused_dump(std::string const& from, std::string const& to, std::string const& why) {
  refused_text([&] { read_flight_record(dump_with(from, to), 0, "rank_0"); }, why);
}
nlohmann::json value_of(std::string_view pickle) { return parse_pickle(pickle).root(); }
void refused_pickle(std::string const& bytes, std::string const& why) {
  refused_text([&] { parse_pickle(bytes); }, why);
}

}  // namespace

TEST_CASE("an entry of a dump is an operation") {
  rank_record const read = read_flight_record(dump_with(), 3);
  CHECK(read.rank == 3);
  CHECK(read.is_whole);
  REQUIRE(read.groups.size() == 1);
  CHECK(read.groups[0].ranks == std::vector{3, 5});
  REQUIRE(read.operations.size() == 1);
  recorded_operation const& one = read.operations[0];
  CHECK(one.backend == "nccl");
  CHECK(one.kind == "send");
  CHECK(one.peer == 1);
  CHECK(one.is_transfer);
  CHECK(one.sequence == 1);
  CHECK(one.state == recorded_state::pending);
  CHECK(one.inputs.sizes == std::vector<std::vector<long long>>{{2, 8}});
  REQUIRE(one.lines.size() == 2);
  CHECK(one.lines[0]
        == source_line{"_batch_p2p", "/lib/torch/distributed/pipelining/schedules.py", 644});
  CHECK(one.lines[1] == source_line{"main", "/mine/train.py", 40});
}

TEST_CASE("an operation that is retired before it has ended says nothing of its end") {
  rank_record const read = read_flight_record(dump_with("\"retired\": false", "\"retired\": true"), 0);
  CHECK(read.operations[0].state == recorded_state::unknown);
}

TEST_CASE("a ring buffer that begins late has lost operations") {
  CHECK_FALSE(read_flight_record(dump_with("\"record_id\": 0", "\"record_id\": 9"), 0).is_whole);
}

TEST_CASE("a group whose name was another's before is known by its description") {
  rank_record const read =
      read_flight_record(dump_with("[\"0\", \"default_pg\"]", "[\"0\", \"later\"]"), 0);
  REQUIRE(read.groups.size() == 2);
  CHECK(read.groups[1].ranks.empty());
}

TEST_CASE("dumps that cannot be used are refused with key and reason") {
  refused_text([] { read_flight_record("[]", 0, "rank_0"); }, "'rank_0': a dump must be an object");
  refused_text([] { read_flight_record("{}", 0); }, "lacks \"version\"");
  refused_dump("\"2.10\"", "\"1.0\"", "\"version\" must be 2.x, not '1.0'");
  refused_dump("\"record_id\": 0, ", "", "lacks \"record_id\"");
  refused_dump("nccl:send 0->1", "send", "\"profiling_name\" must be backend:operation");
  refused_dump("send 0->1", "send", "must name the ranks of a transfer");
  refused_dump("send 0->1", "send 0->2", "'2' is no rank of the group");
  refused_dump("send 0->1", "send 0->x", "'x' is no rank of the group");
  refused_dump("scheduled", "lost", "\"state\" must be scheduled, started or completed");
  refused_dump("[3, 5]", "[3, 3]", "\"ranks\" has a rank twice");
  refused_dump("[3, 5]", "[3, 99999999999]", "\"ranks\" has a rank above");
  refused_dump("[[2, 8]]", "[[2, -8]]", "\"input_sizes\" must be a whole number from 0");
  refused_dump("[\"0\", \"default_pg\"]", "[\"0\"]",
               "\"process_group\" must be a name and a description");
}

TEST_CASE("pickles of plain data are read") {
  CHECK(value_of("\x80\x02N.") == nullptr);
  CHECK(value_of("\x80\x02\x88.") == true);
  CHECK(value_of("\x80\x02K\x07.") == 7);
  CHECK(value_of("\x80\x02M\x01\x02.") == 0x201);
  CHECK(value_of("\x80\x02J\xfe\xff\xff\xff.") == -2);
  CHECK(value_of("\x80\x02\x8a\x02\xfe\xff.") == -2);
  CHECK(value_of("\x80\x02\x8a\x08\x00\x00\x00\x00\x01\x00\x00\x00."s) == 4294967296);
  CHECK(value_of("\x80\x02G\x3f\xf8\x00\x00\x00\x00\x00\x00."s) == 1.5);
  CHECK(value_of("\x80\x02X\x02\x00\x00\x00hi."s) == "hi");
  CHECK(value_of("\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00\x8c\x02hi\x94."s) == "hi");
  CHECK(value_of("\x80\x02](K\x01K\x02"
                 "e.")
        == nlohmann::json{1, 2});
  CHECK(value_of("\x80\x02K\x01K\x02\x86.") == nlohmann::json{1, 2});
  CHECK(value_of("\x80\x02}X\x01\x00\x00\x00"
                 "aK\x01s."s)
        == nlohmann::json{{"a", 1}});
  // A list that is shared, and filled after it was.
  CHECK(value_of("\x80\x02]]q\x01"
                 "ah\x01K\x05"
                 "a0."s)
        == nlohmann::json{{5}});
}

TEST_CASE("pickles that would run something, or are no pickles, are refused") {
  refused_pickle(
      "\x80\x02"
      "cos\nsystem\n.",
      "byte 2: it is no plain data: reading it would import or call");
  refused_pickle("\x80\x02R.", "which is never done");
  refused_pickle("\x80\x02K", "byte 3: the pickle ends early");
  refused_pickle("\x80\x02.", "the stack is empty");
  refused_pickle(
      "\x80\x02"
      "e.",
      "there is no mark");
  refused_pickle("\x80\x02h\x05.", "the memo has no value 5");
  refused_pickle(
      "\x80\x02K\x01K\x02"
      "a.",
      "there is no list to add to");
  refused_pickle("\x80\x02}(K\x01u.", "a key has no value");
  refused_pickle("\x80\x02\xff.", "there is no opcode 255");
  refused_pickle("\x80\x02X\xff\xff\xff\xff.", "the pickle ends early");
  refused_pickle("\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01."s, "more than 64 bits");
  // A list in itself.
  refused_pickle(
      "\x80\x02]q\x01h\x01"
      "a.",
      "too deep");
  // Lists of lists, each twice: the copies would be 2^60.
  std::string twice = "\x80\x02]";
  for (int i = 0; i < 60; ++i)
    twice +=
        "q\x01](h\x01h\x01"
        "e";
  refused_pickle(twice + ".", "its shared parts are too many");
}
