// Costs of each micro-batch, and passes that take no time.
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace {

nlohmann::json json_of(std::string const& arguments) {
  tool_result const made = run_tool(arguments + " --as json");
  INFO(made.err);
  REQUIRE(made.code == 0);
  return nlohmann::json::parse(made.out);
}

std::string emitted(std::string const& name, std::string const& line) {
  std::string const file = (scratch() / name).string();
  CHECK(run_tool(line + " -o " + file).code == 0);
  return file;
}

std::string const short_and_long = "1,1,1\n1,1,1\n4,4,4\n2,2,2\n";

TEST_CASE("costs of each micro-batch: schedules, files, simulations") {
  std::string const each = scratch_file("micro.csv", short_and_long);
  std::string const size = " -p 2 -m 4 --per-micro-batch " + each;
  nlohmann::json const made = json_of("emit zb-h1" + size);
  CHECK(made["costs"]["micro_batches"] == 4);
  REQUIRE(made["costs"]["per_stage"].size() == 2 * 4);
  CHECK(made["costs"]["per_stage"][6]["backward_input"] == 4);
  CHECK(made["busy"] == nlohmann::json({3 * 8, 3 * 8}));
  std::string const file = emitted("micro.json", "emit zb-h1" + size + " --as json");
  CHECK(run_tool("emit " + file + " --as json").out == content(file));
  CHECK(run_tool("check " + file).code == 0);
  CHECK(json_of("simulate " + file)["makespan"] == made["makespan"]);
  CHECK(json_of("simulate zb-h1" + size)["makespan"] == made["makespan"]);
  // A schedule of a file has other costs.
  std::string const plain = emitted("plain.json", "emit zb-h1 -p 2 -m 4 --as json");
  CHECK(json_of("emit " + plain + " --per-micro-batch " + each)["starts"] == made["starts"]);
  // One line for each stage and micro-batch: the second stage takes three times as long.
  std::string const both = scratch_file("both.csv", short_and_long + "3,3,3\n3,3,3\n12,12,12\n6,6,6\n");
  CHECK(json_of("emit 1f1b -p 2 -m 4 --per-micro-batch " + both)["busy"]
        == nlohmann::json({3 * 8, 9 * 8}));
}

TEST_CASE("costs of each micro-batch: search and compare") {
  std::string const size = " -p 2 -m 4 --per-micro-batch " + scratch_file("micro.csv", short_and_long);
  nlohmann::json const found = json_of("search --placement linear --budget 200" + size);
  long long const makespan = found["makespan"], bound = found["makespan_bound"];
  CHECK(makespan >= bound);
  CHECK(makespan <= json_of("emit 1f1b" + size)["makespan"]);
  CHECK(found["costs"]["micro_batches"] == 4);
  nlohmann::json const compared = json_of("compare 1f1b zb-h1" + size);
  CHECK(compared[0]["makespan"] == json_of("emit 1f1b" + size)["makespan"]);
  CHECK(contains(run_tool("compare" + size).out, "takes micro-batches in parts"));
  CHECK(compared[1]["makespan"] == json_of("emit zb-h1" + size)["makespan"]);
}

TEST_CASE("costs of each micro-batch: a frontier") {
  std::string const size = " -p 2 -m 4 --per-micro-batch " + scratch_file("micro.csv", short_and_long),
                    line = "frontier --steps 1 --from 1 --budget 100" + size;
  nlohmann::json const linear = json_of(line + " --placement linear");
  REQUIRE(linear.size() == 1);
  // The published schedules' overheads are their own under these costs.
  for (nlohmann::json const& row : linear[0]["published"])
    CHECK(row["overhead_span"]
          == json_of("compare " + row["schedule"].get<std::string>() + size)[0]["overhead_span"]);
  CHECK(linear[0]["published"].size() > 3);
  CHECK(linear[0]["searched"][0]["overhead_span"]
        == json_of("search --objective span --placement linear --budget 100" + size)["overhead_span"]);
  // A schedule that holds the weights twice has costs, unless it halves micro-batches.
  nlohmann::json const any = json_of(line);
  std::vector<std::string> twice;
  for (nlohmann::json const& row : any.back()["published"]) twice.push_back(row["schedule"]);
  auto const has = [&twice](char const* name) {
    return std::find(twice.begin(), twice.end(), name) != twice.end();
  };
  CHECK(has("chimera"));
  CHECK_FALSE(has("chimera-backward-halving"));
}

// The longest micro-batch keeps and sends most.
TEST_CASE("sizes of each micro-batch: simulations and searches") {
  std::string const each =
      scratch_file("sized.csv",
                   "\"forward\", \"backward_input\", \"backward_weight\", \"message\", \"stash\"\n"
                   "1,1,1,1KiB,\"10\"\n1,1,1,1KiB,10\n4,4,4,4KiB,40\n2,2,2,2KB,20\n");
  std::string const size = " -p 2 -m 4 --per-micro-batch " + each;
  nlohmann::json const free = json_of("simulate 1f1b" + size);
  CHECK(json_of("simulate 1f1b -p 2 -m 4 --per-micro-batch "
                + scratch_file("micro.csv", short_and_long))["makespan"]
        == free["makespan"]);
  nlohmann::json const slow = json_of("simulate 1f1b --bandwidth 1000" + size);
  CHECK(slow["makespan"] > free["makespan"]);
  // The first device holds two micro-batches at once: the last two of the four.
  std::string const held = "search --placement linear --budget 100 --limit-bytes ";
  nlohmann::json const roomy = json_of(held + "60" + size), tight = json_of(held + "40" + size);
  CHECK(roomy["makespan"] <= tight["makespan"]);
  CHECK(contains(run_tool(held + "39" + size).err, "device 0 needs 40B"));
  std::string const emitted = "simulate zb-h1 --bytes 5" + size;
  all_refused(
      {{emitted, "--bytes has no effect"},
       {held + "60 --stash-bytes 3" + size, "--stash-bytes has no effect"},
       {held + "60 --stash-left-bytes 11" + size, "--stash-left-bytes"},
       {held + "60 -p 2 -m 4", "a --per-micro-batch with stashes"},
       {"show 1f1b -p 2 -m 2 --per-micro-batch " + scratch_file("none.csv", "1,1,1,2,0\n1,1,1,2,3\n"),
        "line 1: a stash must be of 1 byte or more"},
       {"show 1f1b -p 2 -m 2 --per-micro-batch " + scratch_file("some.csv", "1,1,1,2,1\n1,1,1\n"),
        "line 2: either all micro-batches have sizes or none has"}});
}

TEST_CASE("costs of micro-batches that there are not") {
  std::string const each = scratch_file("micro.csv", short_and_long);
  all_refused(
      {{"show 1f1b -p 2 -m 3 --per-micro-batch " + each, "has 4 lines, but there are 3 micro-batches"},
       {"show 1f1b -p 4 -m 2 --per-micro-batch " + each, "on 2 stages, but there are 4 stages"},
       {"show seq1f1b -p 2 -m 4 --per-micro-batch " + each, "sequences in chunks"},
       {"search -p 2 -m 4 --sequence-chunks 2 --per-micro-batch " + each, "--sequence-chunks"},
       {"frontier -p 2 -m 2 --per-micro-batch " + each, "--per-micro-batch names the stages of one"},
       {"frontier seq1f1b -p 2 -m 4 --per-micro-batch " + each,
        "seq1f1b takes micro-batches in parts, and --per-micro-batch has costs of whole ones"},
       {"frontier -m 4 --per-micro-batch " + each + " "
            + emitted("two.json", "emit 1f1b -p 2 -m 2 --as json"),
        "has 2 micro-batches, but --per-micro-batch has costs of 4"},
       {"show 1f1b --forward 2 --per-micro-batch " + each, "excludes"},
       {"show 1f1b --per-micro-batch /no/such/file", "cannot read '/no/such/file'"}});
}

TEST_CASE("passes that take no time") {
  nlohmann::json const frozen = json_of("emit 1f1b -p 2 -m 4 --backward-weight 0");
  CHECK(frozen["costs"]["per_stage"][0]["backward_weight"] == 0);
  CHECK(frozen["makespan"] == 4 * 2 + 2);
  std::string const embedding = scratch_file("embedding.csv", "0,0,0\n1,1,1\n");
  std::string const file =
      emitted("embedding.json", "emit zb-h1 -p 2 -m 4 --as json --per-stage " + embedding);
  CHECK(run_tool("check " + file).code == 0);
  CHECK(run_tool("emit " + file + " --as json").out == content(file));
  CHECK(json_of("simulate " + file)["makespan"] == 4 * 3);
  CHECK(run_tool("show " + file).code == 0);
  CHECK(contains(run_tool("emit " + file + " --as svg").out, "<svg"));
  CHECK(json_of("search --placement linear -p 2 -m 4 --budget 20 --per-stage " + embedding)["makespan"]
        == 4 * 3);
}

TEST_CASE("no pass takes time: every command has an answer") {
  std::string const nothing = " -p 2 -m 3 --forward 0 --backward-input 0 --backward-weight 0";
  for (char const* command : {"emit zb-h1", "simulate zb-h1", "search --placement linear"})
    CHECK(json_of(command + nothing)["makespan"] == 0);
  for (char const* command : {"show zb-h1", "check zb-h1", "compare zb-h1 1f1b", "frontier",
                              "emit zb-h1 --as svg", "emit zb-h1 --as html", "emit zb-h1 --as trace"})
    CHECK(run_tool(command + nothing).code == 0);
  for (nlohmann::json const& part : json_of("frontier" + nothing))
    for (nlohmann::json const& row : part["published"]) CHECK(row["least_overhead_span"] == 0);
}

TEST_CASE("an order of micro-batches: search and show") {
  std::string const size = " -p 2 -m 4 --per-micro-batch " + scratch_file("micro.csv", short_and_long);
  nlohmann::json const plain = json_of("emit 1f1b" + size),
                       ordered = json_of("emit 1f1b --order" + size);
  CHECK(ordered["makespan"] < plain["makespan"]);
  CHECK(ordered["busy"] == plain["busy"]);
  CHECK(contains(ordered["schedule"].get<std::string>(), "(micro-batches "));
  std::string const search = "search --placement linear --budget 300 --objective makespan" + size;
  nlohmann::json const as_given = json_of(search), found = json_of(search + " --order");
  CHECK(found["makespan"] <= as_given["makespan"]);
  CHECK(found["bound"] == as_given["bound"]);
  if (found.contains("micro_batches_by_place")) {
    std::vector<int> order = found["micro_batches_by_place"];
    std::sort(order.begin(), order.end());
    CHECK(order == std::vector<int>{0, 1, 2, 3});
  }
  all_refused({{"search --order", "--order has no effect without --per-micro-batch"}});
  all_refused({{"show 1f1b --order", "--order has no effect without --per-micro-batch"}});
  std::string const six =
      " -p 2 -m 6 --per-micro-batch " + scratch_file("six.csv", short_and_long + "1,1,1\n3,3,3\n");
  all_refused({{"show dualpipe --order" + six, "overlapped pairs"}});
}

TEST_CASE("deal: what it makes is the file of --per-micro-batch") {
  std::string const lengths = scratch_file("lengths.txt", "# tokens\n100\n40\n\n30\n30\n50\n50\n");
  std::string const line = "deal " + lengths
                           + " -m 3 --tokens 100 --forward 10ms --backward-input 14ms --backward-weight 6ms "
                             "--causal 20,40 ";
  nlohmann::json const dealt = json_of(line);
  std::vector<int> all;
  for (auto const& one : dealt["micro_batches"])
    for (int const sample : one["samples"]) all.push_back(sample);
  std::sort(all.begin(), all.end());
  CHECK(all == std::vector<int>{0, 1, 2, 3, 4, 5});
  CHECK(dealt["longest"] == 30);  // the sample that the times are of, alone
  CHECK(dealt["bound"] == 30);
  std::string const csv = (scratch() / "dealt.csv").string();
  CHECK(run_tool(line + "--as csv -o " + csv).code == 0);
  nlohmann::json const made = json_of("emit gpipe -p 2 -m 3 --per-micro-batch " + csv);
  double sum = 0;
  for (auto const& one : dealt["micro_batches"])
    sum += one["forward"].get<double>() + one["backward_input"].get<double>()
           + one["backward_weight"].get<double>();
  CHECK(made["busy"][0].get<double>() / made["costs"]["ticks_per_unit"].get<double>()
        == doctest::Approx(sum));
  CHECK(contains(run_tool(line).out, "no less than 30, gap 0.00 %"));
  tool_result const full = run_tool(line + "--max-tokens 99");
  CHECK(full.code == 1);
  CHECK(contains(full.err, "sample 0 finds no room"));
  all_refused({{"deal " + lengths + " -m 7", "has 6 samples: too few for 7 micro-batches"}});
  all_refused({{"deal " + scratch_file("bad.txt", "12\n-3\n"), "line 2: a length must be"}});
  all_refused({{"deal " + scratch_file("none.txt", "# none\n"), "has no lengths"}});
}

// A pass of both stages of Llama 3 8B on sequences of this length over some of eight context ranks,
// whose data ranks share the others.
struct context_costs {
  std::vector<long long> microseconds[2];  // by stage: forward, input, weight
  long long message = 0;
};

context_costs costs_in_context(int sequence, int ranks) {
  std::string const many = std::to_string(8 / ranks);
  nlohmann::json const made = nlohmann::json::parse(
      run_tool("predict --model llama3-8b --cluster 2x8xH100 --pipeline 2 --sharding optimizer "
               "--recompute full --as costs --sequence "
               + std::to_string(sequence) + " --batch " + std::to_string(8 / ranks * 16) + " --context "
               + std::to_string(ranks) + " --data " + many)
          .out)["costs"];
  context_costs c;
  c.message = made["message_bytes"];
  for (std::size_t stage = 0; stage < 2; ++stage)
    for (char const* kind : {"forward", "backward_input", "backward_weight"})
      c.microseconds[stage].push_back(std::llround(1e6 * made["stages"][stage][kind].get<double>()));
  return c;
}

TEST_CASE("context ranks that differ by micro-batch: their costs, exchanges among them, are simulated") {
  // Four sequences of 32k tokens and 64 of 4k: all over eight ranks, or the short ones on one rank each,
  // eight at once.
  context_costs const large = costs_in_context(32'768, 8), cut = costs_in_context(4096, 8),
                      whole = costs_in_context(4096, 1);
  CHECK(large.message == whole.message);                             // as many tokens on a rank
  CHECK(8 * cut.microseconds[0][0] > 2 * whole.microseconds[0][0]);  // the exchange is in it
  auto const simulated = [](std::vector<context_costs> const& each) {
    std::string lines;
    long long busy[2] = {0, 0};
    for (std::size_t stage = 0; stage < 2; ++stage)
      for (context_costs const& c : each) {
        for (long long const t : c.microseconds[stage]) {
          lines += std::to_string(t) + "us,";
          busy[stage] += t;
        }
        lines += std::to_string(c.message) + ",1\n";
      }
    nlohmann::json const made =
        json_of("simulate 1f1b -p 2 -m " + std::to_string(each.size()) + " --bandwidth 50000 --latency 0us "
                "--per-micro-batch " + scratch_file("contexts.csv", lines));
    double const unit = made["ticks_per_unit"];
    REQUIRE(made["time_unit"] == "us");
    for (std::size_t stage = 0; stage < 2; ++stage)
      CHECK(made["by_device"][stage]["busy"] == static_cast<double>(busy[stage]) * unit);
    return made["makespan"].get<double>() / unit;
  };
  std::vector<context_costs> alike(4, large), mixed(4, large);
  alike.resize(68, cut);
  mixed.resize(12, whole);
  CHECK(simulated(mixed) < 0.65 * simulated(alike));
}

}  // namespace
