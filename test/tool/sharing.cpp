// The options that say what data-parallel ranks share, in show, simulate and emit.
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace {

// The cell of a table's column in the row of device 0.
std::string cell_of(std::string const& text, std::string const& column) {
  std::string const two_blanks = "  ";
  std::size_t const begin = text.find("device  busy");
  REQUIRE(begin != std::string::npos);
  std::string const header = text.substr(begin, text.find('\n', begin) - begin);
  std::size_t const next = text.find('\n', begin) + 1;
  std::string const row = text.substr(next, text.find('\n', next) - next);
  std::size_t const at = (header + two_blanks).find(two_blanks + column + two_blanks);
  if (at == std::string::npos) return "";
  std::size_t const end = at + 2 + column.size();  // cells are flush right
  return row.substr(row.find_last_of(' ', end - 1) + 1, end - row.find_last_of(' ', end - 1) - 1);
}

nlohmann::json run_of(std::string const& arguments) {
  tool_result const r = run_tool("simulate " + arguments + " --as json");
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return nlohmann::json::parse(r.out);
}

// The instructions of device 0 that begin with the word.
std::vector<std::string> named(nlohmann::json const& run, std::string const& word) {
  std::vector<std::string> found;
  for (auto const& i : run.at("by_device")[0].at("stream"))
    if (auto const name = i.at("instruction").get<std::string>(); name.rfind(word, 0) == 0)
      found.push_back(name);
  return found;
}

}  // namespace

TEST_CASE("show counts gathers, scatters and buffers: 2v - b and v for breadth-first") {
  for (int buffers : {1, 2}) {
    std::string const line = "show breadth-first -p 2 -m 4 -v 4 --data-ranks 2 --sharding ";
    std::string const more = " --weight-buffers " + std::to_string(buffers);
    std::string const full = run_tool(line + "full" + more).out;
    CHECK(cell_of(full, "gathers") == std::to_string(8 - buffers));
    CHECK(cell_of(full, "scatters") == "4");
    CHECK(cell_of(full, "weight slots") == std::to_string(buffers));
    CHECK(cell_of(full, "gradient shard slots") == "4");
    std::string const gradients = run_tool(line + "gradients" + more).out;
    CHECK(cell_of(gradients, "gathers") == "4");
    CHECK(cell_of(gradients, "weight slots") == "4");
    CHECK(cell_of(gradients, "weight gradient slots") == std::to_string(buffers));
    CHECK(cell_of(run_tool(line + "optimizer").out, "weight gradient slots") == "4");
    std::string const none = run_tool("show breadth-first -p 2 -m 4 -v 4").out;
    CHECK(!contains(none, "gathers"));
    CHECK(cell_of(none, "weight gradient slots") == "4");
  }
}

TEST_CASE("simulate runs what the options ask for") {
  std::string const line = "v-half -p 2 -m 4 --data-ranks 2 ";
  CHECK(named(run_of(line), "gather").empty());
  auto const full = run_of(line + "--sharding full --optimizer-step after-norm");
  CHECK(named(full, "all-gather").size() == named(full, "release").size());
  CHECK(named(full, "all-gather").size() > 2);
  CHECK(named(full, "reduce-scatter").size() >= 2);
  CHECK(named(full, "optimize").size() == 2);
  CHECK(named(full, "measure").size() == 1);
  CHECK(named(run_of(line + "--sharding optimizer"), "all-gather").size() == 2);

  // Rings cost time: 1F1B on one device, a stage of 80 bytes, two ranks, 10 bytes a tick.
  std::string const one = "1f1b -p 1 -m 1 --ring-bandwidth 10 --weight-bytes 80 --gradient-bytes 80 ";
  CHECK(run_of(one + "--data-ranks 2").at("makespan") == 3 + 8);
  CHECK(run_of(one + "--data-ranks 2 --sharding optimizer").at("makespan") == 4 + 3 + 4);
  CHECK(run_of(one + "--data-ranks 2 --optimizer-step at-end --optimizer-ticks 6").at("makespan")
        == 3 + 8 + 6);
  CHECK(run_of(one + "--data-ranks 2 --sharding full --optimizer-step at-end --optimizer-ticks 6")
            .at("makespan")
        == 4 + 3 + 4 + 3);

  // The second of two chunks is needed after four forwards.
  for (int prefetch : {0, 1, 4}) {
    auto const run = run_of(
        "breadth-first-accumulation -v 2 -m 4 --data-ranks 2 --sharding optimizer "
        "--prefetch "
        + std::to_string(prefetch));
    auto const place = static_cast<std::size_t>(7 - prefetch);  // after two clears, too
    CHECK(run.at("by_device")[0].at("stream")[place].at("instruction") == "all-gather stage 1");
  }
}

TEST_CASE("when gradients are reduced") {
  std::string const line = "v-half -p 3 -m 3 --data-ranks 2 --reduction ";
  auto const last_pass = [](nlohmann::json const& run) {
    std::size_t reductions = 0;  // before the last pass of device 2, which holds the middle stages
    std::size_t seen = 0;
    for (auto const& i : run.at("by_device")[2].at("stream")) {
      auto const name = i.at("instruction").get<std::string>();
      if (name.rfind("all-reduce", 0) == 0) ++seen;
      if (name[0] >= '0' && name[0] <= '9') reductions = seen;
    }
    return reductions;
  };
  CHECK(last_pass(run_of(line + "eager")) > 0);
  CHECK(last_pass(run_of(line + "at-end")) == 0);
  CHECK(last_pass(run_of(line + "eager-middle-last")) == 0);
}

TEST_CASE("emit writes gathers and releases, and what it writes is valid") {
  std::string const file = (scratch() / "sharded.csv").string();
  for (std::string const more :
       {"--sharding optimizer", "--sharding full --weight-buffers 2",
        "--sharding gradients --reduction at-end --prefetch 2", "--sharding weights"}) {
    CAPTURE(more);
    tool_result const r = run_tool("emit breadth-first -p 2 -m 4 --as pytorch-comms --data-ranks 2 "
                                   + more + " -o " + file);
    CAPTURE(r.err);
    CHECK(r.code == 0);
    std::string const text = content(file);
    for (char const* word : {"0UNSHARD", "3RESHARD", "1REDUCE_GRAD"}) CHECK(contains(text, word));
    CHECK(run_tool("check " + file).code == 0);
  }
  CHECK(!contains(run_tool("emit breadth-first --as pytorch-comms").out, "UNSHARD"));
}

TEST_CASE("help names what can be shared") {
  for (std::string const command : {"show", "simulate", "emit", "train"}) {
    tool_result const r = run_tool(command + " --help");
    CHECK(r.code == 0);
    for (char const* word : {"--data-ranks", "--sharding full|gradients|none|optimizer|weights",
                             "--weight-buffers", "--optimizer-step after-norm|at-end|none"})
      CHECK(contains(r.out, word));
    for (char const* word : {"--reduction at-end|eager|eager-middle-last", "--prefetch"})
      CHECK(contains(r.out, word) == (command != "show"));  // it shows what is there, not in which order
  }
}

TEST_CASE("what cannot be shared is refused with a sentence") {
  struct refused {
    char const* arguments;
    char const* message;
  };
  for (refused const& r : std::vector<refused>{
           {"--data-ranks 0", "--data-ranks must be from 1 to 1000000, not 0"},
           {"--data-ranks -2", "not -2"},
           {"--data-ranks 99999999999999999999", "--data-ranks"},
           {"--data-ranks two", "--data-ranks"},
           {"--data-ranks 2 --sharding half", "half not in {full,gradients,none,optimizer,weights}"},
           {"--data-ranks 2 --sharding 1", "--sharding"},
           {"--sharding full", "--sharding needs others to share with: --data-ranks of 2 or more"},
           {"--optimizer-step never", "never not in {after-norm,at-end,none}"},
           {"--weight-buffers 0", "--weight-buffers must be from 1 to"}})
    for (std::string const command : {"show 1f1b ", "simulate 1f1b ", "emit 1f1b --as pytorch-comms "}) {
      CAPTURE(command);
      CAPTURE(r.arguments);
      tool_result const found = run_tool(command + r.arguments, 5);
      CHECK(found.code == 2);
      CHECK(found.out.empty());
      CAPTURE(found.err);
      CHECK(contains(found.err, r.message));
    }
  for (std::string const format : {"pytorch", "json", "trace", "svg", "html"}) {
    tool_result const found = run_tool("emit 1f1b --data-ranks 2 --as " + format);
    CHECK(found.code == 2);
    CHECK(contains(found.err, "it is for pytorch-comms"));
  }
  tool_result const often =
      run_tool("emit depth-first --as pytorch-comms --data-ranks 2 --sharding full");
  CHECK(often.code == 2);
  CHECK(contains(often.err, "more than once, and PyTorch reduces it once"));
  for (std::string const name : {"depth-first", "v-half", "interleaved-zb"}) {
    std::string const file = (scratch() / "turns.csv").string();
    CHECK(run_tool("emit " + name + " --as pytorch-comms --data-ranks 2 --sharding weights -o " + file)
              .code
          == 0);
    CHECK(run_tool("check --for pytorch " + file).code == 0);
  }
  tool_result const steps = run_tool("emit 1f1b --as pytorch-comms --optimizer-step at-end");
  CHECK(steps.code == 2);
  CHECK(contains(steps.err, "PyTorch leaves that to the training loop"));
}

TEST_CASE("tied embeddings are one group of the program, and one matrix of a device's memory") {
  // Each end's gradient is summed with the other's: an instruction more to clear it, and one to reduce.
  auto const instructions = [](std::string const& line) {
    std::string const out = run_tool("show " + line).out;
    auto const end = out.find(" instructions, ");
    REQUIRE(end != std::string::npos);
    return std::stol(out.substr(out.rfind('\n', end) + 1));
  };
  for (auto const& [line, holders] : {std::pair{"1f1b -p 4 -m 4", 2},
                                      {"1f1b -p 1 -m 4", 1},
                                      {"v-half -p 4 -m 4", 1},
                                      {"chimera -p 4 -m 4", 2}})
    CHECK(instructions(line + std::string(" --tie-embeddings")) == instructions(line) + 2 * holders);

  std::string const sizes =
      " --tie-embeddings --tied-weight-bytes 100 --tied-optimizer-bytes 20 "
      "--tied-gradient-bytes 3";
  auto const resident = [&](std::string const& line) {
    std::vector<int> bytes;
    nlohmann::json const run = run_of(line + sizes);
    for (auto const& device : run.at("by_device")) bytes.push_back(device.at("memory").at("resident"));
    return bytes;
  };
  CHECK(resident("1f1b -p 3 -m 3") == std::vector{123, 0, 123});
  CHECK(resident("v-half -p 3 -m 3") == std::vector{123, 0, 0});
  CHECK(resident("1f1b -p 1 -m 3") == std::vector{123});
  // Parameters that several stages use are whole on each rank.
  CHECK(resident("1f1b -p 3 -m 3 --data-ranks 2 --sharding full") == std::vector{123, 0, 123});
  // Its ring is the one thing that takes time after the passes: 2 of 2 steps with half of 100 bytes.
  std::string const tied = "1f1b -p 2 -m 2 --tie-embeddings ";
  CHECK(run_of(tied + "--ring-bandwidth 10 --tied-gradient-bytes 100").at("makespan").get<int>()
        == run_of(tied).at("makespan").get<int>() + 10);
  tool_result const alone = run_tool("simulate 1f1b --tied-weight-bytes 1");
  CHECK(alone.code == 2);
  CHECK(contains(alone.err, "--tie-embeddings"));
}
