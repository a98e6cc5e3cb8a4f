// `ashlar search` on devices that differ: in speed, in memory, in activations and in bytes.
#include "tool/refusals.hpp"
#include "tool/searching.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using nlohmann::json;

std::string const four = "-p 4 -m 8 --placement v --budget 100" + uneven;

}  // namespace

TEST_CASE("speeds: a device at half the speed takes twice as long, whatever the placement") {
  json const s = found("-p 4 -m 8 --placement v --budget 50 --speeds 100,100,50,80" + uneven);
  for (json const& stage : s["costs"]["per_stage"]) CHECK(stage["forward"] == 10);
  CHECK(s["costs"]["speeds"] == json({100, 100, 50, 80}));
  CHECK(s["busy"] == json({480, 480, 960, 2 * 8 * (13 + 17 + 9)}));  // 12.5, 16.25, 8.75 rounded up
  CHECK(s["bound"].get<long>() >= 960);

  json const all = found("-p 4 -m 8 --memory 60% --budget 50 --speeds 100,100,50,100" + uneven);
  REQUIRE(all["layouts"].size() == 5);
  for (json const& l : all["layouts"]) CHECK(l["bound"].get<long>() >= 480 * l["unit"].get<long>());
  CHECK(found(four + " --speeds 100,100,100,100")["starts"] == found(four)["starts"]);
}

TEST_CASE("speeds: a frontier of slower devices") {
  auto const all = json::parse(run_tool("frontier -p 4 -m 8 --from 0.5 --steps 2 --budget 5 --as json "
                                        "--speeds 100,50,100,100"
                                        + uneven)
                                   .out);
  CHECK(all.size() == 6);  // the last are those both ways, with replicas on slower devices
  for (json const& row : all.back()["published"]) CHECK(row["overhead_span"] >= 0);
  for (json const& part : all)
    for (json const& row : part["searched"]) CHECK(row["overhead_span"] >= row["least_overhead_span"]);
}

TEST_CASE("limits: one a device, in chunk activations") {
  json const s = found(four + " --limit 8,6,4,2");
  CHECK(s["limit"] == json({8, 6, 4, 2}));
  CHECK(s["limit_unit"] == "chunk activations");
  for (std::size_t d = 0; d < 4; ++d)
    CHECK(s["peak_activations"][d].get<int>() <= s["limit"][d].get<int>());
  CHECK(s["bound"] > 0);
  CHECK(contains(run_tool("search " + four + " --limit 8,6,4,2").out, "8,6,4,2"));
  json const alike = found(four + " --limit 4,4,4,4"), one = found(four + " --limit 4");
  CHECK(alike["limit"] == 4);
  CHECK(alike["starts"] == one["starts"]);
}

TEST_CASE("limits: in bytes, of which weights take their part") {
  // 40 bytes of weights and 20 of gradients leave 40: four activations of one of two stages, or half of
  // them.
  std::string const sizes = " --stash-bytes 20 --weight-bytes 40 --gradient-bytes 20 --limit-bytes ";
  json const s = found(four + sizes + "100");
  CHECK(s["limit"] == 100);
  CHECK(s["limit_unit"] == "bytes");
  for (json const& peak : s["peak_activations"]) CHECK(peak.get<int>() <= 4);
  CHECK(s["starts"] == found(four + sizes + "100,100,100,100")["starts"]);
  CHECK(found(four + sizes + "100,100,100,80")["peak_activations"][3] == 2);
  // Bytes that input passes give back make room for more.
  json const more = found(four + sizes + "100 --stash-left-bytes 4");
  std::vector<int> const peaks = more["peak_activations"];
  CHECK(*std::max_element(peaks.begin(), peaks.end()) > 4);
  CHECK(more["reached"] <= s["reached"]);
  CHECK(more["bound"] < s["bound"]);
  tool_result const text = run_tool("search " + four + sizes + "2KiB");
  CHECK(text.code == 0);
  CHECK(contains(text.out, " 2KiB "));
}

TEST_CASE("search: times and sizes are those of a p-th of the model, on named placements as on any") {
  std::string const asked =
      "-p 4 -m 8 --budget 20 --limit-bytes 1GiB --stash-bytes 129MiB --optimizer-bytes 301MiB" + uneven;
  json const all = found(asked);
  REQUIRE(all["layouts"].size() == 5);
  for (json const& l : all["layouts"]) {
    std::string const shape = l["layout"], chunks = std::to_string(l["chunks"].get<int>());
    json const one = found(asked + " --placement " + shape
                           + (shape == "looped" || shape == "wave" ? " -v " + chunks : std::string()));
    CHECK(one["unit"] == l["unit"]);
    CHECK(one["bound"] == l["bound"]);
  }
  // Six stages on four devices: a stage has two thirds of a p-th, in thirds of a tick.
  json const six = found("--placement 0,1,2,3,0,1 -m 4 --limit 6 --budget 5 --forward 10 --transfer 1");
  CHECK(six["unit"] == 3);
  CHECK(six["costs"]["per_stage"][0]["forward"] == 20);
  CHECK(six["costs"]["transfer"] == 3);
  // A file has the costs of each stage.
  std::string lines;
  for (int stage = 0; stage < 8; ++stage) lines += "10,13,7\n";
  json const each = found("-p 4 -m 8 --placement v --budget 20 --transfer 1 --per-stage "
                          + scratch_file("each.csv", lines));
  CHECK(each["unit"] == 1);
  CHECK(each["costs"]["per_stage"][0]["forward"] == 10);
}

TEST_CASE("limits: in bytes on any placement, sizes are those of a p-th of the model") {
  json const s = found(
      "-p 4 -m 8 --budget 50 --limit-bytes 1GiB --stash-bytes 129MiB --optimizer-bytes 500MiB" + uneven);
  REQUIRE(s["layouts"].size() == 5);
  for (json const& l : s["layouts"]) CHECK(l["limit"] == 1 << 30);
  // (1024 - 500) / 129 = 4.06, which is all of 1F1B's.
  json const one = found(
      "-p 4 -m 8 --placement linear --limit-bytes 1GiB --stash-bytes 129MiB --optimizer-bytes 500MiB "
      "--budget 50"
      + uneven);
  std::vector<int> const peaks = one["peak_activations"];
  CHECK(*std::max_element(peaks.begin(), peaks.end()) == 4);
}

TEST_CASE("limits: sizes of each stage") {
  std::string const file =
      scratch_file("sizes.csv", "# a vocabulary at the end\n0,10\n0,10\n0,10,2\n1KiB, 20\n");
  std::string const line =
      "-p 4 -m 8 --placement linear --budget 100 --per-stage-bytes " + file + uneven;
  json const s = found(line + " --limit-bytes 20,20,20,1064");
  CHECK(s["limit"] == json({20, 20, 20, 1064}));
  CHECK(found(line + " --limit-bytes 20B,0.02KB,20,1064") == s);
  std::vector<int> const peaks = s["peak_activations"];
  for (int device : {0, 1, 3}) CHECK(peaks[static_cast<std::size_t>(device)] <= 2);
  all_refused({{"search " + line + " --limit-bytes 1043", "device 3 needs 1044B (1KiB of weights"}}, 1);
}

TEST_CASE("limits: without a schedule") {
  all_refused(
      {{"search -p 4 --placement v --limit 8,8,1,8",
        "number of chunk activations on device 2 must be at least 2, not 1"},
       {"search -p 4 --placement v --stash-bytes 20 --limit-bytes 100,100,19,100",
        "device 2 needs 20B (0B of weights, gradients and optimizer state, 20B of one micro-batch), but "
        "--limit-bytes gives it 19B; the smallest limit for all devices is 20B"},
       {"search -p 4 --placement linear --stash-bytes 1GiB --weight-bytes 30GiB --optimizer-bytes 60GiB "
        "--limit-bytes 80GiB",
        "linear: device 0 needs 91GiB (90GiB of weights, gradients and optimizer state, 1GiB of one"},
       {"search -p 4 --stash-bytes 10 --limit-bytes 8", "the smallest limit for all devices is 10B"}},
      1);
}

TEST_CASE("--memory-cap counts what is joined, and messages between shards") {
  std::string stages;
  for (int i = 0; i < 64; ++i)
    stages += std::string(i > 0 ? "," : "")
              + R"({"layers":500,"parts":{"forward":[{"compute":1}],"backward":[{"compute":)"
              + std::to_string(1 + i) + "}]}}";
  std::string const joined =
      scratch_file("joined.json", R"({"costs":{"unit":"us","stages":[)" + stages + "]}}");
  all_refused({{"compare 1f1b -p 2 -m 2 --memory-cap 512MiB --costs " + joined,
                "parts of forwards times parts of backwards"},
               {"show vocab-1 -p 256 -m 100 --memory-cap 256MiB", "messages between shards"},
               {"check vocab-1 -p 1024 -m 100 --memory-cap 8GiB", "messages between shards"}});
}

TEST_CASE("limits and speeds: wrong usage") {
  std::string const bytes = "search --placement v --stash-bytes 10 --limit-bytes ";
  std::string const each = "search --placement linear --limit-bytes 100 --per-stage-bytes ";
  all_refused(
      {{"search --speeds 100,50", "--speeds has speeds of 2 devices, but there are 4"},
       {"search --speeds 100,50,0,100", "--speeds must be from 1 to 1000000, not 0"},
       {"search --speeds 100,fast,50,50", "--speeds"},
       {"frontier --speeds 100", "--speeds has speeds of 1 device, but there are 4"},
       {"search --placement v --limit 8,8", "--limit gives 2 limits; there must be 1 for all devices"},
       {"search --placement v --limit 8,8,8,0", "--limit must be from 1 to"},
       {"search --placement v --limit 8,8,8,x", "--limit"},
       {"search --limit 8,8,8,8", "--limit counts chunks"},
       {bytes + "100,200", "--limit-bytes gives 2 limits"},
       {bytes + "100 --limit 4", "excludes"},
       {bytes + "100 --memory 50%", "excludes"},
       {bytes + "100gB", "--limit-bytes is a number of bytes from 0 to 4TiB, like 512, 24GiB"},
       {bytes + "-1", "not '-1'"},
       {bytes + "1e30", "not '1e30'"},
       {bytes + "1.5", "not '1.5'"},
       {bytes + "100 --stash-left-bytes 11", "--stash-left-bytes must be from 0 to 10, not 11"},
       {"search --placement v --limit-bytes 100", "--stash-bytes"},
       {"search --placement v --limit-bytes 100 --stash-bytes 0", "--stash-bytes of 1 or more"},
       {bytes + "100 --per-stage-bytes x", "excludes"},
       {"search --limit-bytes 9 --per-stage-bytes x", "say which with --placement"},
       {"search --placement v --per-stage-bytes x", "--limit-bytes"},
       {each + scratch_file("two.csv", "1,1\n1,1\n"),
        "has sizes of 2 stages, but linear on 4 devices has 4 stages"},
       {each + scratch_file("one.csv", "1,1\n1\n"), "line 2: a stage's sizes are two or three"},
       {each + scratch_file("word.csv", "1,one\n"),
        "line 1: a size is a number of bytes from 0 to 4TiB"},
       {each + scratch_file("zero.csv", "1,0\n"), "line 1: a stash must be of 1 byte or more"},
       {each + scratch_file("left.csv", "1,2,3\n"), "line 1: a stash must be"},
       {each + scratch_file("none.csv", "#\n"), "has no sizes"},
       {"search --placement v --stash-bytes 10", "--limit-bytes"},
       {"search --placement v --limit 4 --weight-bytes 10", "--limit-bytes"},
       {"simulate 1f1b --weight-bytes 10Gb", "--weight-bytes is a number of bytes"}});
}

TEST_CASE("bytes: powers of 1000 and 1024, and what is rounded is said") {
  std::string const line =
      "search -p 2 -m 2 --placement linear --budget 1 --limit-bytes 79.7GB --stash-bytes ";
  tool_result const rounded = run_tool(line + "0.1GiB --weight-bytes 0.3GiB");
  CHECK(rounded.code == 0);
  CHECK(rounded.err == "note: '0.1GiB' is 107374182 bytes; parts of bytes are rounded\n");
  CHECK(run_tool(line + "2.3GB").err.empty());
}
