// `ashlar train` from end to end, on models small enough to train in a moment.
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace {

std::string const tiny = " --blocks 4 --width 16 --heads 2 --context 16 --sequences 1";

std::string corpus() {
  auto const path = scratch() / "corpus.txt";
  std::ofstream file(path);
  for (int line = 0; line < 400; ++line) file << "a stone, a stone, and a joint between stones\n";
  return " --corpus " + path.string();
}

}  // namespace

TEST_CASE("train verifies its steps bit by bit") {
  for (char const* shape : {"--schedule v-half -p 2 -m 4", "--schedule 1f1b -p 3 -m 2",
                            "--schedule zb-h1 -p 2 -m 2 --precision double"}) {
    CAPTURE(shape);
    tool_result const r = run_tool("train --steps 3 --verify " + std::string(shape) + tiny + corpus());
    CHECK(r.code == 0);
    CHECK(r.err.empty());
    CHECK(contains(r.out, "proved complete, ordered, deadlock-free and memory-safe"));
    CHECK(contains(r.out, "losses and gradients of 2 steps bitwise equal to the sequential model's"));
    CHECK(contains(r.out, " ms (no less than "));
    CHECK(contains(r.out, "unigram entropy of the text"));
  }
}

TEST_CASE("train ties the embeddings, on data-parallel ranks and in shards") {
  for (char const* shape :
       {"--schedule 1f1b -p 2 -m 2", "--schedule v-half -p 2 -m 2", "--schedule 1f1b -p 1 -m 2",
        "--schedule chimera -p 2 -m 2 --data-ranks 2", "--schedule 1f1b -p 2 -m 2 --data-ranks 2",
        "--schedule zb-h1 -p 2 -m 2 --data-ranks 2 --sharding optimizer",
        "--schedule breadth-first -p 2 -m 2 --data-ranks 2 --sharding gradients",
        "--schedule 1f1b-recompute -p 2 -m 2 --data-ranks 3 --sharding full --precision double"}) {
    CAPTURE(shape);
    std::string const line = "train --steps 2 --verify " + std::string(shape) + tiny + corpus();
    tool_result const apart = run_tool(line), tied = run_tool(line + " --tie-embeddings");
    for (tool_result const* r : {&apart, &tied}) {
      CHECK(r->code == 0);
      CHECK(r->err.empty());
      CHECK(contains(r->out, "losses and gradients of 2 steps bitwise equal to the sequential model's"));
    }
    // 256 rows of 16 once instead of twice.
    auto const parameters = [](std::string const& text) {
      auto const end = text.find(" parameters in 4 blocks");
      REQUIRE(end != std::string::npos);
      return std::stol(text.substr(text.rfind('\n', end) + 1));
    };
    CHECK(parameters(apart.out) == parameters(tied.out) + 256 * 16);
  }
}

TEST_CASE("the loss falls, the same way each time") {
  std::string const run = "train --schedule v-half -p 2 -m 4 --steps 60 --learning-rate 0.01";
  tool_result const r = run_tool(run + tiny + corpus());
  CHECK(r.code == 0);
  auto const number_behind = [&](std::string const& text, std::string const& words) {
    auto const at = text.rfind(words);
    REQUIRE(at != std::string::npos);
    return std::stod(text.substr(at + words.size()));
  };
  double const first = number_behind(r.out, "\nloss "),
               last = number_behind(r.out, " nats a byte at first, "),
               entropy = number_behind(r.out, "unigram entropy of the text ");
  CHECK(first > 5);  // as good as a guess among 256
  CHECK(last < first - 1);
  CHECK(entropy > 2);
  CHECK(entropy < 4);
  std::string const again = run_tool(run + tiny + corpus()).out;
  CHECK(number_behind(again, " nats a byte at first, ") == last);
}

TEST_CASE("train writes the measured timeline") {
  auto const trace = scratch() / "step.json";
  tool_result const r =
      run_tool("train --schedule 1f1b -p 2 -m 2 --steps 2 --trace " + trace.string() + tiny + corpus());
  CHECK(r.code == 0);
  auto const events = nlohmann::json::parse(content(trace))["traceEvents"];
  int passes = 0;
  for (auto const& e : events) {
    if (e["ph"] != "X") continue;
    CHECK(e["dur"].get<double>() >= 0);
    auto const name = e["name"].get<std::string>();
    passes += name.find('F') != std::string::npos && name.find(' ') == std::string::npos;
  }
  CHECK(passes == 4);
}

TEST_CASE("what cannot be trained is refused") {
  for (char const* wrong :
       {"--steps 0", "--width 97", "--schedule nothing", "-p 0", "--corpus /does/not/exist",
        "--precision half", "--learning-rate 2", "--sharding full", "--data-ranks 0", "--data-ranks 100",
        "--optimizer-step at-end"}) {
    CAPTURE(wrong);
    tool_result const r = run_tool("train --steps 1 " + std::string(wrong));
    CHECK(r.code == 2);
    CHECK(!r.err.empty());
  }
}
