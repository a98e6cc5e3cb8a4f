// `ashlar train` from end to end, on models small enough to train in a moment.
#include "tool/refusals.hpp"
#include "tool/training.hpp"
#include <ashlar/train/train_signals.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

using namespace training_test;

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

TEST_CASE("train: passes may start out of order, and the bits are the same") {
  for (char const* shape : {"--schedule v-half -p 2 -m 4 --window 4",
                            "--schedule zb-h1 -p 3 -m 4 --window 8 --data-ranks 2"}) {
    CAPTURE(shape);
    tool_result const r = run_tool("train --steps 3 --verify " + std::string(shape) + tiny + corpus());
    INFO(r.err);
    CHECK(r.code == 0);
    CHECK(contains(r.out, "losses and gradients of 2 steps bitwise equal to the sequential model's"));
  }
  all_refused(
      {{"train --window 0" + corpus(), "--window must be from 1"},
       {"train --window 2 --experts 2" + tiny + corpus(), "--window has no effect with --experts"}});
}

TEST_CASE("train: a batch may end with a shorter micro-batch") {
  std::string const line =
      "train --schedule v-half -p 2 -m 3 --sequences 3 --steps 3 --verify" + tiny_of_any_size + corpus();
  for (char const* more : {" --last-sequences 1", " --last-sequences 2 --tie-embeddings --data-ranks 2",
                           " --last-sequences 1 --precision double --sharding full --data-ranks 2"}) {
    CAPTURE(more);
    tool_result const r = run_tool(line + more);
    INFO(r.err);
    CHECK(r.code == 0);
    CHECK(contains(r.out, ", the last of "));
    CHECK(contains(r.out, "losses and gradients of 2 steps bitwise equal to the sequential model's"));
  }
  all_refused({{line + " --last-sequences 4", "not longer: 4 sequences after 3"},
               {line + " --last-sequences 1 --experts 2", "micro-batches of one size"},
               {line + " --last-sequences 1 --clip-micro-batches 1", "do not go together"},
               {line + " --last-sequences -1", "--last-sequences must be from 0"}});
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
    // The difference is 256 rows of 16 once instead of twice.
    auto const parameters = [](std::string const& text) {
      auto const end = text.find(" parameters in 4 blocks");
      REQUIRE(end != std::string::npos);
      return std::stol(text.substr(text.rfind('\n', end) + 1));
    };
    CHECK(parameters(apart.out) == parameters(tied.out) + 256 * 16);
  }
}

namespace {

double number_behind(std::string const& text, std::string const& words) {
  auto const at = text.rfind(words);
  REQUIRE(at != std::string::npos);
  return std::stod(text.substr(at + words.size()));
}

TEST_CASE("train: the name of a file is no escape sequence on a terminal") {
  std::string const odd = (scratch() / "\x1b[2J.json").string();
  std::ofstream(odd) << run_tool("emit 1f1b -p 2 -m 2 --as json").out;
  tool_result const r = run_tool("train --schedule \"" + odd + "\" --steps 1" + tiny + corpus());
  CHECK((r.code == 0 && contains(r.out, "\\x1b[2J.json on 2 devices")));
  CHECK(!contains(r.out + r.err, "\x1b"));
}

}  // namespace

TEST_CASE("the loss falls, the same way each time") {
  std::string const run = "train --schedule v-half -p 2 -m 4 --steps 60 --learning-rate 0.01";
  tool_result const r = run_tool(run + tiny + corpus());
  CHECK(r.code == 0);
  CHECK(contains(r.out, "\npredicted with the pass times of the first 20 steps: "));
  CHECK(contains(r.out, "\nsimulated with the pass times of all 60 steps: "));
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

// A step on one device is the sum of its passes: the simulation is shorter than the prediction by as
// much as the passes were.
TEST_CASE("a step is simulated with what all passes took, apart from its prediction") {
  std::string const line = "train --schedule gpipe -p 1 -m 64" + tiny + corpus();
  std::string const costs = scratch_file("a_millisecond.json", R"({"costs": {"unit": "ms", "stages": [
        {"forward": 1, "backward_input": 1, "backward_weight": 1}]}})");
  for (std::string const& given : {std::string(), " --costs " + costs}) {
    CAPTURE(given);
    tool_result const r = run_tool(line + " --steps 24" + given);
    REQUIRE(r.code == 0);
    double const predicted = number_behind(
                     r.out, given.empty() ? "\npredicted with the pass times of the first 20 steps: "
                                          : "\npredicted with the costs of '" + costs + "': "),
                 simulated = number_behind(r.out, "\nsimulated with the pass times of all 24 steps: "),
                 percent = number_behind(r.out, "; the passes took ");
    if (!given.empty()) CHECK(predicted == 192);
    double const sign = contains(r.out, " % less than predicted\n") ? -1 : 1;
    double const rounding = 0.0006 * predicted + 0.011;
    CHECK(simulated
          == doctest::Approx(predicted * (1 + sign * percent / 100)).epsilon(rounding / simulated));
  }
  // The prediction is from all steps.
  tool_result const few = run_tool(line + " --steps 3");
  CHECK(contains(few.out, "\npredicted with the pass times of the first 3 steps: "));
  CHECK(!contains(few.out, "\nsimulated with "));
}

TEST_CASE("train writes the measured timeline") {
  auto const trace = scratch() / "step.json";
  tool_result const r =
      run_tool("train --schedule 1f1b -p 2 -m 2 --steps 2 --trace " + trace.string() + tiny + corpus());
  CHECK(r.code == 0);
  auto const events = nlohmann::json::parse(content(trace))["traceEvents"];
  int passes = 0;
  std::set<std::string> threads;
  for (auto const& e : events) {
    if (e["name"] == "thread_name") threads.insert(e["args"]["name"].get<std::string>());
    if (e["ph"] != "X") continue;
    CHECK(e["dur"].get<double>() >= 0);
    auto const name = e["name"].get<std::string>();
    passes += name.find('F') != std::string::npos && name.find(' ') == std::string::npos;
  }
  CHECK(passes == 4);
  CHECK(threads.count("compute") == 1);
  CHECK(threads.count("transfers") == 1);
  CHECK(threads.size() <= 3);
}

TEST_CASE("a trace that fails does not lose the closing lines") {
  tool_result const r =
      run_tool("train --schedule 1f1b -p 2 -m 2 --steps 2 --trace /dev/full" + tiny + corpus());
  CHECK(r.code == 2);
  CHECK(contains(r.out, "unigram entropy of the text"));
  CHECK(contains(r.err, "cannot write '/dev/full'"));
}

TEST_CASE("numbers that are not finite end a training, or are skipped and counted") {
  std::string const line =
      "train --schedule 1f1b -p 2 -m 2 --steps 30 --learning-rate 1e9" + tiny + corpus();
  tool_result const r = run_tool(line);
  CHECK(r.code == 1);
  auto const at = r.out.find("\nstep ");
  REQUIRE(at != std::string::npos);
  std::string const last = r.out.substr(at);
  CHECK(contains(last, ": the loss is "));
  CHECK(contains(last, "as stage "));
  CHECK(contains(last, "on micro-batch "));
  CHECK(!contains(last, "unigram"));
  tool_result const skipped = run_tool(line + " --skip-nonfinite");
  CHECK(skipped.code == 0);
  CHECK(contains(skipped.out, "skipped, as their numbers were not finite: "));
  CHECK(contains(skipped.out, "unigram entropy of the text"));
}

TEST_CASE("before the first step, a signal says that there will be none") {
  std::filesystem::path const said = scratch() / "said_of_signals";
  pid_t const child = fork();
  if (child == 0) {
    tool::stop_on_signals();
    [[maybe_unused]] auto const* const to = std::freopen(said.c_str(), "w", stderr);
    raise(SIGINT);
    tool::interrupted = 0;
    tool::is_stepping = 1;
    raise(SIGTERM);
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(content(said)
        == "\nashlar: ends before the first step; a second Ctrl-C ends at once\n"
           "\nashlar: ends after this step; a second Ctrl-C ends at once\n");
}

TEST_CASE("a signal ends after the step, two end at once") {
  std::string const tool = "'" ASHLAR_TOOL "' ";
  std::string const endless = "train --schedule 1f1b -p 2 -m 2 --steps 1000000" + tiny + corpus();
  for (int const signal : {SIGINT, SIGTERM}) {
    running_program const once(tool + endless);
    once.wait_for("1/1000000");
    once.send(signal);
    tool_result const r = once.end();
    CHECK(r.code == 128 + signal);
    CHECK(contains(r.out, "ends after this step; a second Ctrl-C ends at once"));
    CHECK(contains(r.out, "interrupted; "));
    CHECK(contains(r.out, "unigram entropy of the text"));
  }
  // A step takes many seconds.
  std::string const slow =
      "train --schedule 1f1b -p 2 -m 2000 --blocks 32 --width 256 --steps 1000000" + corpus();
  running_program const twice(tool + slow);
  twice.wait_for("bytes of text");
  twice.send(SIGINT);
  twice.wait_for("a second Ctrl-C ends at once");
  twice.send(SIGINT);
  tool_result const r = twice.end();
  CHECK(r.code == 130);
  CHECK(!contains(r.out, "interrupted; "));
}

TEST_CASE("shapes as in emit") {
  tool_result const r =
      run_tool("train --steps 1 --schedule breadth-first -p 2 -m 4 -v 3" + tiny + corpus());
  CHECK(r.code == 0);
  CHECK(contains(r.out, "on 6 stages"));
  CHECK(contains(run_tool("train --steps 1 --schedule hanayo -p 2 -m 2 --waves 2" + tiny + corpus()).out,
                 "on 8 stages"));
}

TEST_CASE("the corpus is the current folder by default; what cannot be read in it is counted") {
  namespace fs = std::filesystem;
  fs::path const folder = scratch() / "texts";
  fs::create_directories(folder / "closed");
  std::ofstream(folder / "open.txt") << std::string(4000, 'x') << "\n";
  std::ofstream(folder / "closed.txt") << "secret\n";
  fs::permissions(folder / "closed.txt", fs::perms::none);
  fs::permissions(folder / "closed", fs::perms::none);
  // Root reads everything.
  std::string const who = geteuid() == 0 ? "setpriv --reuid 65534 --clear-groups " : "";
  fs::permissions(scratch(), fs::perms::all);
  std::string const out = (scratch() / "counted").string();
  std::string const line = "cd '" + folder.string() + "' && " + who
                           + "'" ASHLAR_TOOL "' train --steps 1 -p 1 -m 1 " + "--schedule 1f1b" + tiny
                           + " >'" + out + "'";
  CHECK(std::system(line.c_str()) == 0);
  CHECK(contains(content(out), "; 4001 bytes of text"));
  CHECK(contains(content(out), "could not be read and were passed over: 2"));
  fs::permissions(folder / "closed", fs::perms::owner_all);
}

TEST_CASE("what cannot be trained is refused") {
  for (char const* wrong :
       {"--steps 0", "--width 97", "--schedule nothing", "-p 0", "--corpus /does/not/exist",
        "--precision half", "--learning-rate 2e9", "--sharding full", "--data-ranks 0",
        "--data-ranks 100", "--optimizer-step at-end"}) {
    CAPTURE(wrong);
    tool_result const r = run_tool("train --steps 1 " + std::string(wrong));
    CHECK(r.code == 2);
    CHECK(!r.err.empty());
  }
}

// The tool has CUDA or not: there is no GPU for it here.
TEST_CASE("training on GPUs says what is lacking") {
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  tool_result const r = run_tool("train --backend cuda --steps 1");
  unsetenv("CUDA_VISIBLE_DEVICES");
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK_MESSAGE(contains(r.err, "ashlar: --backend cuda: "), r.err);
}
