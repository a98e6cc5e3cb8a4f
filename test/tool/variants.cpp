// `ashlar search` and `ashlar frontier` where chunks may recompute and sequences be cut.
#include "tool/refusals.hpp"
#include "tool/searching.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace {

// Most that a device holds, in percent of an activation, by the tokens alone: a forward of one of the
// stages that recompute takes `kept`, its recompute the rest.
int peak_percent(nlohmann::json const& schedule, int recomputing_stages, int kept) {
  int most = 0;
  for (auto const& order : schedule["orders"]) {
    int held = 0;
    for (std::string const token : order) {
      bool const again = std::stoi(token) < recomputing_stages;
      if (contains(token, "F")) held += again ? kept : 100;
      if (contains(token, "R")) held += 100 - kept;
      if (contains(token, "W")) held -= 100;
      most = std::max(most, held);
    }
    CHECK(held == 0);
  }
  return most;
}

int recomputes_of(nlohmann::json const& schedule) {
  int count = 0;
  for (auto const& order : schedule["orders"])
    for (std::string const token : order) count += contains(token, "R") ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("search: chunks that recompute where that is shorter") {
  std::string const options = "-p 4 -m 8 --placement v --limit 3 --budget 400" + uneven;
  nlohmann::json const all = found(options), s = found(options + " --checkpoint 10%");
  REQUIRE(s["layouts"].size() == 4);
  CHECK(s["layouts"][3]["recomputed_stages"] == nlohmann::json{0, 1, 2, 3, 4, 5});
  for (int again : {0, 1, 2}) {
    CHECK(s["layouts"][static_cast<std::size_t>(again)]["recomputed_chunks"] == again);
    CHECK(s["layouts"][static_cast<std::size_t>(again)]["limit"] == 3);
  }
  int const again = static_cast<int>(s["recomputed_stages"].size());  // the first of the chain
  CHECK(again > 0);
  CHECK(s["reached"].get<long>() < all["reached"].get<long>());
  CHECK(s["reached"].get<long>() >= s["bound"].get<long>());
  CHECK(recomputes_of(s) == again * 8);
  CHECK(recomputes_of(all) == 0);
  CHECK(peak_percent(s, again, 10) <= 300);
  CHECK(peak_percent(all, 0, 10) <= 300);
}

TEST_CASE("search: the sets of stages asked for, and no others") {
  std::string const options =
      "-p 4 -m 16 --placement linear --limit 2 --budget 300" + uneven + " --checkpoint ";
  nlohmann::json const usual = found(options + "6%"),
                       one = found(options + "6% --checkpoint-stages 0,1"),
                       sets = found(options + "6% --checkpoint-stages none/0-1/2,0,1/0-3"),
                       each = found(options + "6%,50%,6%,6% --checkpoint-stages 0-1");
  auto const stages = [](nlohmann::json const& s) { return s["recomputed_stages"]; };
  REQUIRE(usual["layouts"].size() == 3);  // none, all, and the two that hold more than 2
  CHECK(stages(usual["layouts"][1]) == nlohmann::json{0, 1, 2, 3});
  CHECK(usual["layouts"][1]["recomputed_chunks"] == 1);
  CHECK(stages(usual["layouts"][2]) == nlohmann::json{0, 1});
  CHECK(usual["layouts"][2]["recomputed_chunks"].is_null());
  REQUIRE(one["layouts"].size() == 1);
  CHECK(stages(one) == nlohmann::json{0, 1});
  CHECK(recomputes_of(one) == 2 * 16);
  CHECK(one["orders"][1].dump().find("1R0") != std::string::npos);
  CHECK(peak_percent(one, 2, 6) <= 200);
  REQUIRE(sets["layouts"].size() == 4);
  CHECK(stages(sets["layouts"][0]).empty());
  CHECK(stages(sets["layouts"][2]) == nlohmann::json{0, 1, 2});
  for (auto const& l : usual["layouts"]) CHECK(usual["reached"] <= l["reached"]);
  CHECK(stages(each) == nlohmann::json{0, 1});
  CHECK(contains(run_tool("search " + options + "6% --checkpoint-stages 0-1,3").out,
                 "linear, stages 0-1,3 recomputed"));
}

TEST_CASE("search: sequences in chunks hold less and wait less") {
  std::string const options = "-p 4 -m 6 --placement linear --memory 50% --budget 200" + uneven;
  nlohmann::json const whole = found(options), s = found(options + " --sequence-chunks 5");
  REQUIRE(s["layouts"].size() == 3);  // whole, in 2, in 4
  CHECK(s["sequence_chunks"] == 4);
  CHECK(s["unit"] == 4);
  CHECK(s["limit"] == 2);
  CHECK(s["micro_batches"] == 24);
  CHECK(peak_percent(s, 0, 100) <= 800);
  CHECK(s["reached"].get<double>() / 4 < whole["reached"].get<double>());
}

TEST_CASE("search: variants of all placements, and of limits in bytes") {
  std::string const variants = " --checkpoint 0.05 --sequence-chunks 2 --budget 100" + uneven;
  nlohmann::json const s = found("-p 3 -m 4 --memory 40%" + variants);
  CHECK(s["layouts"].size() == 2 * (2 + 3 + 3 + 5 + 5) + 6);
  // A device has 60 B for what passes keep: three stashes, or what six sequences in halves keep.
  nlohmann::json const b = found(
      "-p 3 -m 4 --placement linear --limit-bytes 100 --weight-bytes 40 --stash-bytes 20" + variants);
  REQUIRE(b["layouts"].size() == 4);
  for (auto const& l : b["layouts"]) CHECK(l["limit"] == 100);
  CHECK(peak_percent(b, 3 * b["recomputed_chunks"].get<int>(), 5)
        <= 300 * b["sequence_chunks"].get<int>());
}

TEST_CASE("search: what recomputes counts as bubble") {
  tool_result const r =
      run_tool("search -p 1 -m 4 --placement linear --limit 1 --checkpoint 50% --budget 20");
  CHECK(contains(r.out, "linear, 1 recomputed"));
  CHECK(contains(r.out, "25.00"));  // 3 of 4 ticks are the model's own
  CHECK(contains(r.out, "linear: optimal"));
}

TEST_CASE("search: what a limit leaves no schedule for is told apart from what was not tried") {
  std::string const line =
      "search -p 4 -m 8 --placement v --memory 20% --checkpoint 10% --budget 30 --as ";
  CHECK(contains(run_tool(line + "text").out, "\nv: infeasible: needs at least 2\n"));
  auto const layouts = nlohmann::json::parse(run_tool(line + "json").out)["layouts"];
  REQUIRE(layouts.size() == 3);
  int infeasible = 0;
  for (auto const& l : layouts) {
    bool const plain = l["recomputed_chunks"] == 0;
    CHECK(l["status"] == (plain ? "infeasible" : "searched"));
    infeasible += plain && l["needs"] == 2 ? 1 : 0;
  }
  CHECK(infeasible == 1);
}

TEST_CASE("frontier: the best of all variants, less below the smallest limit of whole activations") {
  std::string const options =
      "frontier -p 4 -m 8 --placement v --from 20% --steps 5 --budget 30 --as json";
  auto const rows = [](std::string const& line) {
    return nlohmann::json::parse(run_tool(line).out)[0]["searched"];
  };
  nlohmann::json const plain = rows(options),
                       varied = rows(options + " --checkpoint 10% --sequence-chunks 2");
  REQUIRE(plain.size() == 5);
  CHECK(plain[0]["status"] == "infeasible");
  CHECK(plain[0]["needs"] == 2);
  CHECK(plain[1]["status"] == "searched");
  REQUIRE(varied.size() == 5);
  CHECK(varied[0]["limit"] == 1.6);
  for (std::size_t i = 0; i < varied.size(); ++i) {
    CHECK(varied[i]["least_overhead_span"].get<double>() <= varied[i]["overhead_span"].get<double>());
    if (i > 0) CHECK(varied[i]["overhead_span"] <= varied[i - 1]["overhead_span"]);
  }
  CHECK(contains(
      run_tool("frontier -p 2 -m 2 --steps 1 --budget 1 --as svg --checkpoint 10% --sequence-chunks 2")
          .out,
      "recomputes keep 10%; sequences in up to 2 chunks"));
}

TEST_CASE("variants: wrong usage and limits without a schedule") {
  all_refused(
      {{"search --checkpoint 100%", "--checkpoint is a share of an activation, like 0.06 or 6%, not"},
       {"search --checkpoint 0", "--checkpoint is a share"},
       {"search --checkpoint some", "not 'some'"},
       {"frontier --checkpoint -5%", "not '-5%'"},
       {"search --checkpoint 6%,7%", "--checkpoint names the stages of one placement"},
       {"search --checkpoint 6%,7% --placement v", "2 shares; there must be 1 for all stages, or 1 for"},
       {"search --checkpoint 6% --checkpoint-stages 1", "--checkpoint-stages names the stages of one"},
       {"search --checkpoint-stages 1 --placement v", "--checkpoint"},
       {"search --checkpoint 6% --placement v --checkpoint-stages 0,8", "a stage must be from 0 to 7"},
       {"search --checkpoint 6% --placement v --checkpoint-stages 0-3,2", "names stage 2 twice"},
       {"search --checkpoint 6% --placement v --checkpoint-stages 3-1", "3-1 goes down"},
       {"search --checkpoint 6% --placement v --checkpoint-stages 0,1/1,0", "has the set 1,0 twice"},
       {"search --checkpoint 6% --placement v --checkpoint-stages some", "not some"},
       {"frontier -p 2 --checkpoint 6%,7% --placement linear", "give one for all"},
       {"search --sequence-chunks 0", "--sequence-chunks must be from 1 to 1000, not 0"},
       {"search -p 100 -m 10000 --sequence-chunks 8", "10000 micro-batches in 8 pieces"}});
  all_refused({{"search -p 4 --memory 2% --checkpoint 5%",
                "device 0 must be at least 1.15, not 0.32; that is 7.19 % of what 1F1B holds"},
               {"search -p 4 --limit-bytes 5 --stash-bytes 20 --checkpoint 5%",
                "the smallest limit for all devices is 6B"}},
              1);
}
