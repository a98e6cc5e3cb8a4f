// The tool from end to end: each subcommand does what it says.
#include "tool/run_tool.hpp"
#include <ashlar/catalog/searched_entries.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <string>

namespace {}  // namespace

TEST_CASE("list names the whole catalog") {
  tool_result const r = run_tool("list");
  CHECK(r.code == 0);
  CHECK(r.err.empty());
  for (ashlar::catalog::entry const* entry : ashlar::catalog::all_entries) {
    CHECK(contains(r.out, std::string("\n") + entry->name + " "));
    CHECK(contains(r.out, entry->summary));
    CHECK(contains(r.out, entry->source));
  }
}

TEST_CASE("show draws the picture and prints the numbers") {
  tool_result const r = run_tool("show 1f1b -p 4 -m 8");
  CHECK(r.code == 0);
  CHECK(contains(r.out, "device 0 |F0F1F2F3"));
  CHECK(contains(r.out, "makespan     33 ticks"));
  CHECK(contains(r.out, "bubble rate  27.27 % of the makespan, 27.27 % of the span"));
  CHECK(contains(r.out,
                 "bound        33 ticks of makespan (by dependencies), 33 ticks of span (by "
                 "dependencies), with up to 4 chunk activations per device"));
  CHECK(contains(r.out, "gap          0.00 % of makespan, 0.00 % of span"));
  CHECK(contains(r.out, "peak activations"));
  CHECK(contains(r.out, "stash slots"));
  CHECK(contains(r.out, "48 transfers"));
  CHECK(!contains(r.out, "\x1b["));  // not a terminal

  CHECK(contains(run_tool("show v-half --block").out,
                 "stage 0 on device 0: lifespan 30, at most 5 activations held"));
}

TEST_CASE("costs change the times") {
  CHECK(contains(run_tool("show 1f1b -p 1 -m 2 --forward 5 --backward-input 7 --backward-weight 11").out,
                 "makespan     46 ticks"));
  CHECK(contains(run_tool("show 1f1b -p 2 -m 1 --transfer 10").out, "makespan     26 ticks"));
  std::string const file = scratch_file("costs.csv", "# two stages\n1,2,3\n10, 20, 30\n");
  CHECK(contains(run_tool("show 1f1b -p 2 -m 1 --per-stage " + file).out, "makespan     66 ticks"));
}

TEST_CASE("colour is as asked for") {
  CHECK(contains(run_tool("show 1f1b --color always").out, "\x1b["));
  CHECK(!contains(run_tool("show 1f1b --color never").out, "\x1b["));
}

TEST_CASE("every format can be written, to a file as to standard output") {
  for (ashlar::catalog::entry const* entry : ashlar::catalog::all_entries)
    for (std::string const format : {"pytorch", "pytorch-comms", "json", "trace", "svg", "html"}) {
      std::string const line = std::string("emit ") + entry->name + " --as " + format;
      CAPTURE(line);
      tool_result const r = run_tool(line);
      if (contains(r.err, "PyTorch cannot run")) {  // and says why
        CHECK(r.code == (format == "pytorch-comms" ? 2 : 0));
        CHECK(r.out.empty() == (format == "pytorch-comms"));
        continue;
      }
      CHECK(r.code == 0);
      CHECK(r.err.empty());
      CHECK(!r.out.empty());
      std::string const file = (scratch() / "written").string();
      CHECK(run_tool(line + " -o " + file).code == 0);
      CHECK(content(file) == r.out);
    }
}

TEST_CASE("what is emitted is valid") {
  for (ashlar::catalog::entry const* entry : ashlar::catalog::all_entries) {
    bool const trains = entry->name != std::string("inference");
    std::string const file = (scratch() / "schedule.csv").string();
    CHECK(run_tool(std::string("emit ") + entry->name + " -p 4 -m 8 --as pytorch -o " + file).code == 0);
    tool_result const r = run_tool("check " + file);
    CHECK(r.code == 0);
    bool const alone = contains(entry->name, "accumulation");
    CHECK(contains(r.out, alone ? ": 1 device" : ": 4 devices"));
    CHECK(contains(r.out, trains ? "valid: " : "valid for inference, which has forwards only: "));
    CHECK(contains(r.out, "complete, ordered, deadlock-free and memory-safe"));
    CHECK(run_tool("check - <" + file).code == 0);
  }
}

TEST_CASE("what is wrong is invalid, with the reasons") {
  std::string const file = scratch_file("wrong.csv", "0F0,0Q0\n1F0,1F0,1B0\n");
  tool_result const r = run_tool("check " + file);
  CHECK(r.code == 1);
  CHECK(contains(r.out, "wrong.csv: line 1, column 5: '0Q0': unknown token"));
  CHECK(run_tool("check " + scratch_file("cycle.csv", "0B0,0F0\n")).code == 1);
}

TEST_CASE("idle slots are found and counted") {
  tool_result const r = run_tool("check " + scratch_file("idle.csv", "0F0,,,0B0,\n,1F0,1B0,,\n"));
  CHECK(r.code == 0);
  CHECK(r.err.empty());
  CHECK(contains(r.out, "1 route, 6 idle slots, makespan"));
  CHECK(!contains(run_tool("check " + scratch_file("busy.csv", "0F0,0B0\n")).out, "idle"));
}

TEST_CASE("what PyTorch could not run is a warning, or an error if it has to") {
  struct file {
    char const* text;
    char const* why;
  };
  for (file const& f :
       {file{"0F0,0R0,0B0\n", "it has the pass 0R0"},
        file{"0F0,0F1,0B0,0B1\n1F1,1F0,1B0,1B1\n", "the last stage runs 1F1 out of turn"},
        file{"0F0,1F0,1B0,1REDUCE_GRAD,0B0,0REDUCE_GRAD,0WAIT_REDUCE_GRAD,1WAIT_REDUCE_GRAD\n",
             "0REDUCE_GRAD on line 1, column 30 begins while 1REDUCE_GRAD on line 1, column 13 is "
             "pending"},
        file{"0F0,0SEND_F0,0WAIT_SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD,0WAIT_REDUCE_GRAD\n1RECV_F0,1F0,1B0,"
             "1SEND_B0,1WAIT_SEND_B0,1REDUCE_GRAD,1WAIT_REDUCE_GRAD\n",
             nullptr},
        file{
            "0F0,0F1,0SEND_F0,0SEND_F1,0WAIT_SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1,0WAIT_SEND_F0,"
            "0REDUCE_GRAD,0WAIT_REDUCE_GRAD\n1RECV_F0,1F0,1B0,1SEND_B0,1WAIT_SEND_B0,1RECV_F1,1F1,1B1,"
            "1SEND_B1,1WAIT_SEND_B1,1REDUCE_GRAD,1WAIT_REDUCE_GRAD\n",
            "0WAIT_SEND_F1 on line 1, column 27 waits for 0SEND_F1 on line 1, column 18, that waits for "
            "1RECV_F1 on line 2, column 41, that waits for 1WAIT_SEND_B0 on line 2, column 27, that "
            "waits for 1SEND_B0 on line 2, column 18, that waits for 0RECV_B0 on line 1, column 41, "
            "that waits for the first"}}) {
    CAPTURE(f.text);
    std::string const path = scratch_file("for.csv", f.text);
    for (std::string const lanes : {"one", "one-a-direction"}) {
      bool const cycle = f.why != nullptr && contains(f.why, "WAIT_SEND");
      if (cycle && lanes == "one") continue;  // then the program itself has one
      tool_result const warned = run_tool("check --lanes " + lanes + " " + path);
      CHECK(warned.code == 0);
      CHECK(contains(warned.err, "PyTorch cannot run it") == (f.why != nullptr));
      if (f.why != nullptr) CHECK(contains(warned.err, f.why));
      tool_result const strict = run_tool("check --for pytorch --lanes " + lanes + " " + path);
      CHECK(strict.code == (f.why != nullptr ? 1 : 0));
      CHECK(strict.err.empty());
      if (f.why != nullptr) CHECK(contains(strict.out, f.why));
    }
  }
}

TEST_CASE("help names every subcommand and option") {
  tool_result const r = run_tool("--help");
  CHECK(r.code == 0);
  for (char const* word : {"list", "show", "emit", "check", "Examples:", "Exit codes"})
    CHECK(contains(r.out, word));
  tool_result const show = run_tool("show --help");
  CHECK(show.code == 0);
  CHECK(contains(show.out, "\nTime grows linearly with passes"));
  for (char const* word :
       {"--devices", "--micro-batches", "--forward", "--backward-input", "--backward-weight",
        "--transfer", "--per-stage", "--color", "--width", "--block", "Examples:"})
    CHECK(contains(show.out, word));
  tool_result const emit = run_tool("emit --help");
  CHECK(emit.code == 0);
  for (char const* word : {"pytorch", "json", "trace", "svg", "html", "--output", "--block",
                           "--transfers", "--memory", "--dark", "--light", "--against", "Examples:"})
    CHECK(contains(emit.out, word));
  tool_result const version = run_tool("--version");
  CHECK(version.code == 0);
  for (char const* word : {"ashlar ", "compiled by ", "backends: host"})
    CHECK(contains(version.out, word));
}

TEST_CASE("report says what was built, and of a file its last name, its size and its verdict") {
  std::string const file = (scratch() / "reported.csv").string();
  std::ofstream(file) << "0F0,0B0\n";
  tool_result const r = run_tool("report " + file + " " + file + ".no");
  CHECK(r.code == 0);
  CHECK(contains(r.out, run_tool("--version").out));
  CHECK(contains(r.out, "\nreported.csv: 8 bytes, CRC-32 7bd9771d\n"));
  CHECK(contains(r.out, "reported.csv: valid: 1 device"));
  CHECK(contains(r.out, "reported.csv.no: cannot be read as text\n"));
  CHECK(!contains(r.out, scratch().string()));
  CHECK(!contains(r.out, "0F0"));
  CHECK(contains(run_tool("report --contents " + file).out, "contents of reported.csv:\n0F0,0B0\n"));
  std::string const odd = (scratch() / "\x1b[2J.csv").string();
  std::ofstream(odd) << "\x1b]0;x\x07\n";
  tool_result const shown = run_tool("report --contents \"" + odd + "\"");
  CHECK(contains(shown.out, "contents of \\x1b[2J.csv:\n\\x1b]0;x\\x07\n"));
  for (char const* each : {"\x1b", "\x07"}) CHECK(!contains(shown.out + shown.err, each));
}

TEST_CASE("a CSV with communication is written in each dialect, read and proved") {
  for (std::string const dialect : {"b-bw", "i-b", "reduce-grad", "waits"}) {
    std::string const file = (scratch() / "comms.csv").string();
    CHECK(run_tool("emit zb-h1 -p 3 -m 4 --as pytorch-comms --dialect " + dialect + " -o " + file).code
          == 0);
    tool_result const r = run_tool("check " + file + " --dialect " + dialect);
    CHECK(r.code == 0);
    CHECK(contains(r.out, "dialect " + dialect));
    CHECK(contains(r.out, "complete, ordered, deadlock-free"));
  }
  std::string const wrong = scratch_file("wrong.csv", "0F0,0B0,0REDUCE_GRAD,0REDUCE_GRAD\n");
  tool_result const r = run_tool("check " + wrong);
  CHECK(r.code == 1);
  CHECK(contains(r.out, "line 1, column 22: '0REDUCE_GRAD': every stage's gradient must be reduced"));
}

TEST_CASE("the files and flags of frameworks are named, or why they cannot run a schedule") {
  std::string const v = run_tool("emit v-half -p 4 -m 8 --as frameworks").out;
  CHECK(v.starts_with("v-half: 4 devices, 8 stages, 8 micro-batches\nPyTorch:\n"));
  CHECK(contains(v, "--parallelism.pipeline_parallel_degree 4\n"));
  CHECK(contains(v, "--parallelism.pipeline_parallel_schedule ZBVZeroBubble"));
  CHECK(contains(v, "--pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2"));
  std::string const one =
      run_tool("search -p 2 -m 4 --placement linear --budget 20 --as frameworks").out;
  CHECK(contains(one, "--parallelism.pipeline_parallel_schedule 1F1B"));
  CHECK(!contains(one, "virtual"));
  CHECK(contains(run_tool("emit gems -p 4 -m 8 --as frameworks").out,
                 "torchtitan cannot run it: stage 0 is on devices 0 and 3"));
  CHECK(contains(run_tool("emit vocab-1 -p 4 -m 8 --as frameworks").out,
                 "PyTorch, torchtitan and Megatron-Core cannot run it: its stages are not a chain"));
  CHECK(contains(run_tool("emit seq1f1b -p 4 -m 8 --as frameworks").out, "4 stages, 8 micro-batches"));
}
