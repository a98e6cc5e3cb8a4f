// `ashlar search` and `ashlar frontier` from end to end.
#include "tool/refusals.hpp"
#include "tool/searching.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

// The most forwards of a device without their weight pass, by the tokens alone.
int peak_of(nlohmann::json const& schedule) {
  int most = 0;
  for (auto const& order : schedule["orders"]) {
    int held = 0;
    for (std::string const token : order) {
      if (contains(token, "F")) most = std::max(most, ++held);
      if (contains(token, "W")) --held;
    }
  }
  return most;
}

std::vector<std::string> lines_of(std::string const& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("search: pairs of parts") {
  std::string const costs = scratch_file("parts.json", R"({"costs": {"unit": "us", "stages": [{"parts": {
    "forward": [{"compute": 4}, {"exchange": 3}],
    "backward": [{"exchange": 3}, {"compute": 4}, {"compute": 4, "of": "weights"}]}}]}})");
  std::string const asked =
      "search -p 2 -m 6 --placement v --memory 150% --objective makespan --budget 200 --as json";
  auto const plain = nlohmann::json::parse(run_tool(asked + " --costs " + costs).out),
             braided = nlohmann::json::parse(run_tool(asked + " --braid --costs " + costs).out);
  CHECK(braided["makespan"].get<int>() < plain["makespan"].get<int>());
  CHECK(braided["costs"]["overlapped"]["backward_input"].size() == 1);
  CHECK(run_tool(asked + " --braid").code != 0);
}

TEST_CASE("search: the schedule as JSON keeps the limit and lies above its bound") {
  for (std::string const aim : {"span", "makespan", "program"})
    for (int limit : {2, 4, 8}) {
      nlohmann::json const s = found("-p 4 -m 8 --placement v --budget 200 --objective " + aim
                                     + " --limit " + std::to_string(limit) + uneven);
      CHECK(s["layout"] == "v");
      CHECK(s["limit"] == limit);
      CHECK(peak_of(s) <= limit);
      CHECK(s["peak_activations"].size() == 4);
      CHECK(s["reached"].get<long>() >= s["bound"].get<long>());
      CHECK(s["bound"].get<long>() >= 8 * 60);
      CHECK(s["optimal"] == (s["reached"] == s["bound"]));
      if (aim == "program")
        CHECK(s["reached"].get<long>() >= s["makespan"].get<long>());
      else
        CHECK(s["reached"] == s[aim]);
    }
}

TEST_CASE("search: no worse than what is published on the same placement") {
  using namespace ashlar;
  nlohmann::json const s =
      found("-p 4 -m 12 --placement looped -v 2 --limit 8 --budget 50 --objective makespan" + uneven);
  schedule const known = catalog::find("interleaved-zb")
                             ->make({.p = devices{4},
                                     .m = micro_batches{12},
                                     .cost = {{10, 13, 7}, 2},
                                     .v = chunks{2}});  // in halves
  std::vector<int> const peaks = peak_activations(known);
  REQUIRE(*std::max_element(peaks.begin(), peaks.end()) <= 8);
  CHECK(s["reached"].get<tick>() <= makespan(known));
}

TEST_CASE("search: of all placements the best") {
  nlohmann::json const s = found("-p 4 -m 8 --memory 50% --budget 400" + uneven);
  REQUIRE(s["layouts"].size() == 5);
  double least = 1e300;
  for (auto const& l : s["layouts"]) {
    CHECK(l["limit"] == 2 * l["chunks"].get<int>());
    least = std::min(least, l["reached"].get<double>() / l["unit"].get<double>());
  }
  CHECK(s["reached"].get<double>() / s["unit"].get<double>() == least);
  CHECK(s["stages"] == 4 * s["chunks"].get<int>());
}

// The looped layout's bound is lower, and a longer search finds a schedule between the two.
TEST_CASE("search: what is optimal on its layout is not said to be the best of all") {
  std::string const model = "-p 2 -m 4 --forward 8 --backward-input 8 --backward-weight 8 --transfer 2";
  nlohmann::json const s = found(model + " --memory 0.5 --budget 100");
  double least = 1e300;
  for (auto const& l : s["layouts"])
    if (l["status"] == "searched")
      least = std::min(least, l["bound"].get<double>() / l["unit"].get<double>());
  double const unit = s["unit"], reached = s["reached"];
  CHECK(s["optimal"] == (reached / unit == least));
  CHECK(s["bound"].get<double>() / unit <= least);
  CHECK(s["gap"].get<double>() == doctest::Approx(reached / unit / least - 1));
  CHECK(least < 152);
  std::string const text = run_tool("search " + model + " --memory 0.5 --budget 100").out;
  CHECK(contains(text, "% longer than the shortest of these layouts within this limit"));
  CHECK_FALSE(contains(text, "optimal"));
}

// Few divisions are all searched: for six layers on four devices, 1, 2, 2, 1 take 16; seven on five 27.
TEST_CASE("search: of layers, only the divisions that were searched are claimed") {
  auto const layers = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "1,1,1\n";
    return scratch_file("layers" + std::to_string(count) + ".csv", text);
  };
  std::string const asked = "search --placement linear --per-layer ";
  std::string const six = run_tool(asked + layers(6) + " -p 4 -m 2").out;
  CHECK(contains(six, "optimal, no span of any division of the layers within this limit is shorter"));
  CHECK(contains(six, "layers of each stage: 0 | 1-2 | 3-4 | 5\n"));
  CHECK_FALSE(contains(six, "not searched"));
  CHECK(nlohmann::json::parse(run_tool(asked + layers(6) + " -p 4 -m 2 --as json").out)["reached"]
        == 16);
  CHECK(nlohmann::json::parse(run_tool(asked + layers(7) + " -p 5 -m 4 --as json").out)["reached"]
        <= 27);
  std::string const many = run_tool(asked + layers(12) + " -p 4 -m 2 --budget 50").out;
  CHECK(contains(many, "of these divisions of the layers within this limit"));
  CHECK(contains(many, "not searched: other divisions of the layers\n"));
}

TEST_CASE("search: the same seed gives the same bytes") {
  std::string const options = "search -p 4 -m 8 --memory 0.5 --budget 300 --as json" + uneven;
  std::string const first = run_tool(options + " --seed 7").out;
  CHECK_FALSE(first.empty());
  CHECK(run_tool(options + " --seed 7").out == first);
  CHECK(run_tool(options + " --seed 8").out != first);
}

TEST_CASE("search: the same bytes with any number of threads") {
  for (std::string const options : {"search -p 2 -m 4 --placement v --limit 2 --as json",
                                    "search -p 2 -m 4 --memory 50% --budget 800 --as json",
                                    "frontier -p 2 -m 4 --placement v --steps 3 --budget 50 --as csv"}) {
    std::string const alone = run_tool(options + uneven + " --threads 1").out;
    CHECK_FALSE(alone.empty());
    CHECK(run_tool(options + uneven + " --threads 3").out == alone);
    CHECK(run_tool(options + uneven).out == alone);
  }
}

TEST_CASE("search: every format") {
  std::string const options = "search -p 4 -m 8 --placement v --limit 4 --budget 100 --as ";
  std::map<std::string, std::string> const beginning{{"text", "placement"}, {"json", "{\"schedule\""},
                                                     {"svg", "<svg"},       {"html", "<!"},
                                                     {"trace", "{"},        {"pytorch", "0F0"}};
  for (auto const& b : beginning) {
    CAPTURE(b.first);
    tool_result const r = run_tool(options + b.first);
    CHECK(r.code == 0);
    CHECK(r.err.empty());
    CHECK(r.out.substr(0, b.second.size()) == b.second);
  }
  tool_result const text = run_tool(options + "text");
  CHECK(contains(text.out, "device 3 |"));
  CHECK(contains(text.out, "within this limit"));

  // The file that it writes for PyTorch is a schedule, by the tool's own proofs.
  std::string const file = (scratch() / "found.csv").string();
  for (std::string const format : {"pytorch", "pytorch-comms"}) {
    CAPTURE(format);
    CHECK(run_tool(options + format + " -o " + file).code == 0);
    CHECK(run_tool("check " + file).code == 0);
  }
}

TEST_CASE("search: costs of each stage, and time instead of a budget") {
  std::string const costs =
      scratch_file("costs.csv", "# a heavy last stage\n1,1,1\n2,2,2\n1,1,1\n3,4,3\n");
  nlohmann::json const s = found("-p 4 -m 8 --placement linear --seconds 0.2 --per-stage " + costs);
  CHECK(s["bound"].get<long>() >= 80);
  CHECK(s["costs"]["per_stage"][3]["backward_input"] == 4);

  // It is not known to be optimal: the clock ends it.
  nlohmann::json const timed = found("-p 4 -m 8 --placement v --limit 4 --seconds 0.3" + uneven);
  CHECK(timed["optimal"] == false);
  CHECK(timed["evaluations"].get<long>() > 10);
}

TEST_CASE("search: a limit that leaves no schedule") {
  all_refused({{"search --placement v --limit 1", "must be at least 2, not 1"},
               {"search --placement looped -v 4 --memory 20%", "must be at least 4, not 3"},
               {"search -p 10 --memory 0.05", "10.00 % of what 1F1B holds"},
               {"frontier --to 0.2 --from 0.1", "within 0.2 of 1F1B's activations"}},
              1);
}

TEST_CASE("search and frontier: wrong usage") {
  std::string const file = scratch_file("four_stages.csv", "1,1,1\n2,2,2\n1,1,1\n3,4,3\n");
  all_refused({{"search --limit 4", "--placement any"},
               {"search --start inference -p 2 -m 4", "inference has forwards alone"},
               {"search --limit 0 --placement v", "--limit"},
               {"search --limit 4 --memory 1 --placement v", "--memory"},
               {"search --seconds 1 --budget 4", "--budget"},
               {"search --placement spiral", "spiral"},
               {"search --placement wave -v 3", "must be even, not 3"},
               {"search --placement linear -v 2", "goes with --placement looped or wave"},
               {"search -v 2", "goes with --placement looped or wave"},
               {"search --memory half", "not 'half'"},
               {"search --memory -1", "not '-1'"},
               {"search --memory nan", "not 'nan'"},
               {"search --memory 50%%", "not '50%%'"},
               {"search --budget 0", "--budget"},
               {"search --threads 0", "--threads must be from 1 to 4096, not 0"},
               {"search --objective speed", "speed"},
               {"search --per-stage " + file, "one placement"},
               {"search --forward -1", "--forward must be at least 0 and below 2^61, not -1"},
               {"search --forward 2000000000000000000 -m 1000", "too many to add up"},
               {"search -p 0", "-p/--devices must be from 1 to 1024, not 0"},
               {"search -p 1024 -m 100000", "the limit is 1000000"},
               {"search -p 1000 -m 300", "the limit is 1000000"},
               {"frontier --steps 0", "--steps"},
               {"frontier --from 0.9 --to 0.5", "is above"},
               {"frontier --from x", "--from"},
               {"frontier --as png", "png"}});
}

TEST_CASE("frontier: more memory is never worse, and nothing is below its bound") {
  std::string const options = "frontier -p 4 -m 8 --from 0.25 --steps 6 --budget 20" + uneven;
  tool_result const r = run_tool(options + " --as csv");
  REQUIRE(r.code == 0);
  std::vector<std::string> const lines = lines_of(r.out);
  REQUIRE(lines.size() > 20);
  CHECK(lines[0] == "placement,schedule,activations,memory,overhead_span,least_overhead_span");

  auto const all = nlohmann::json::parse(run_tool(options + " --as json").out);
  REQUIRE(all.size() == 6);
  std::size_t rows = 1;
  for (auto const& part : all) {
    double memory = 0, bubble = 1;
    for (auto const& point : part["searched"]) {
      CHECK(point["memory"].get<double>() > memory);
      CHECK(point["overhead_span"].get<double>() <= bubble);
      CHECK(point["overhead_span"].get<double>() >= point["least_overhead_span"].get<double>() - 1e-12);
      memory = point["memory"];
      bubble = point["overhead_span"];
    }
    for (auto const& known : part["published"])
      if (part["placement"] != "both ways, weights twice")
        CHECK(known["overhead_span"].get<double>()
              >= known["least_overhead_span"].get<double>() - 1e-12);
    for (auto const& known : part["published"])  // which the search began with
      if (known["memory"].get<double>() <= memory && !part["searched"].empty())
        CHECK(known["overhead_span"].get<double>() >= bubble);
    rows += part["searched"].size() + part["published"].size();
  }
  CHECK(rows == lines.size());
  CHECK(run_tool(options + " --as svg").out.starts_with("<svg"));
  CHECK(contains(run_tool(options).out, "no less than %"));
}

TEST_CASE("frontier: one placement") {
  auto const all = nlohmann::json::parse(
      run_tool("frontier -p 4 -m 8 --placement v --from 50% --to 100% --steps 2 --budget 20 --as json")
          .out);
  REQUIRE(all.size() == 1);
  CHECK(all[0]["placement"] == "v");
  CHECK(all[0]["searched"].size() == 2);
  CHECK(all[0]["searched"][1]["limit"] == 8);
}

TEST_CASE("a search with costs of each chunk") {
  std::string const each = scratch_file("each.csv", "4,6,3\n6,9,3\n4,6,3\n6,8,3\n");
  std::string const asked =
      "search -p 2 -m 4 --placement linear --budget 200 --as json --per-stage " + each;
  nlohmann::json const s = nlohmann::json::parse(run_tool(asked + " --sequence-chunks 2").out);
  REQUIRE(s["layouts"].size() == 2);  // whole, and in two
  CHECK(s["layouts"][1]["unit"] == 1);
  REQUIRE(s["sequence_chunks"] == 2);
  CHECK(s["costs"]["per_stage"][3]["backward_input"] == 8);
  CHECK(contains(run_tool(asked).err, "has costs of 4 stages"));
  CHECK(contains(run_tool(asked + " --sequence-chunks 2 --causal 9").err, "--causal has no effect"));
  // Its file is a start, with its costs.
  std::string const file = scratch_file("found.json", s.dump());
  nlohmann::json const again =
      nlohmann::json::parse(run_tool("search --start " + file + " --budget 50 --as json").out);
  CHECK(again["costs"] == s["costs"]);
  CHECK(again["reached"] <= s["reached"]);
}

// The longer a round trip over a link takes, the more passes are under way in it.
TEST_CASE("search hides a slow link within its limit") {
  std::string const line =
      "-p 4 -m 8 --placement linear --forward 20ms --backward-input 26ms --backward-weight 14ms "
      "--objective makespan --budget 300 --as json ";
  std::string const late = "--link 2-3:60ms --link 3-2:60ms";
  auto const reached = [&](std::string const& options) {
    return nlohmann::json::parse(run_tool("search " + line + options).out).at("makespan").get<int>();
  };
  int const quick = reached("--memory 200%"), hidden = reached("--memory 200% " + late);
  CHECK((quick <= hidden && hidden <= quick + 2 * 60));
  CHECK(reached("--memory 100% " + late) > hidden);
  // A file of the result has the slow link, too.
  auto const found = nlohmann::json::parse(run_tool("search " + line + late).out);
  CHECK(found.at("costs").at("links").size() == 2);
  for (auto const& [wrong, why] :
       {std::pair{"--link 0-2:1ms", "no transfer goes from device 0 to device 2"},
        {"--link 0-4:1ms", "no transfer goes from device 0 to device 4"},
        {"--link 0-1", "FROM-TO:TIME"},
        {"--link 0-1:1ms --link 0-1:2ms", "--link 0-1 is given twice"},
        {"--link 0-1:1", "has no unit"}}) {
    tool_result const r = run_tool("search " + line + wrong);
    CHECK(r.code == 2);
    CHECK(contains(r.err, why));
  }
}

TEST_CASE("an interrupted search prints the best so far, with its bound and gap") {
  std::string const out = (scratch() / "out").string(), err = (scratch() / "err").string(),
                    line = std::string("timeout --preserve-status -s INT 2 '") + ASHLAR_TOOL
                           + "' search -p 8 -m 32 --placement v --memory 50% --forward 20 --backward-input 26 "
                             "--backward-weight 14 --transfer 1 --budget 100000000 >'"
                           + out + "' 2>'" + err + "'";
  int const status = std::system(line.c_str());
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(contains(content(out), "no less than"));
  CHECK(contains(content(out), "longer than the shortest"));
  CHECK(contains(content(err), "interrupted: this is the best so far"));
}
