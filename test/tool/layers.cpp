// `ashlar search --per-layer` from end to end.
#include "tool/refusals.hpp"
#include "tool/searching.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace {

// An embedding, ten layers, a head as heavy as three of them.
std::string layers_file() {
  std::string text = "# forward,backward_input,backward_weight\n2,1,1\n";
  for (int i = 0; i < 10; ++i) text += "10,13,7\n";
  return scratch_file("layers.csv", text + "30,39,21\n");
}
std::string sized_file() {
  std::string text = "2,1,1,8GiB,1GiB\n";
  for (int i = 0; i < 5; ++i) text += "10,13,7,2GiB,1GiB\n";
  return scratch_file("sized_layers.csv", text);
}

// Forwards of a stage take what its layers do, by the file alone.
void stages_are_their_layers(nlohmann::json const& s) {
  std::vector<int> times{2};
  times.resize(11, 10);
  times.push_back(30);
  std::size_t at = 0;
  for (std::size_t stage = 0; stage < s["layers"].size(); ++stage) {
    int sum = 0;
    for (int i = 0; i < s["layers"][stage].get<int>(); ++i) sum += times[at++];
    CHECK(s["costs"]["per_stage"][stage]["forward"] == sum);
  }
  CHECK(at == times.size());
}

}  // namespace

TEST_CASE("search: layers divided into stages, the best way is no worse than evenly") {
  std::string const options = "-p 4 -m 8 --budget 600 --transfer 1 --per-layer " + layers_file();
  nlohmann::json const line = found(options + " --placement linear"), any = found(options);
  REQUIRE(line["layouts"].size() >= 2);
  CHECK(line["layouts"][0]["division"] == "evenly");
  CHECK(line["layouts"][0]["layers"] == nlohmann::json{3, 3, 3, 3});
  CHECK(line["reached"].get<int>() < line["layouts"][0]["reached"].get<int>());
  CHECK(line["limit_unit"] == "layer activations");
  CHECK(line["limit"] == 12);
  stages_are_their_layers(line);
  stages_are_their_layers(any);
  bool has_four_chunks = false;
  for (auto const& l : any["layouts"]) {
    CHECK(l["reached"].get<int>() >= l["bound"].get<int>());
    CHECK(any["reached"] <= l["reached"]);
    has_four_chunks = has_four_chunks || l["chunks"] == 4;  // 16 stages for 12 layers
  }
  CHECK_FALSE(has_four_chunks);
  for (auto const& l : line["layouts"]) CHECK(line["reached"] <= l["reached"]);

  tool_result const text = run_tool("search --placement linear " + options);
  CHECK(text.code == 0);
  CHECK(contains(text.out, "linear, layers divided evenly "));
  CHECK(contains(text.out, "\nlayers of each stage: 0-"));
}

TEST_CASE("search: layers go where memory is") {
  // The first of two devices has room for its embedding and a layer, the other for what is left.
  nlohmann::json const s = found(
      "-p 2 -m 4 --placement linear --budget 100 --limit-bytes 16GiB,40GiB "
      "--per-layer "
      + sized_file());
  CHECK(s["layouts"][0]["status"] == "searched");
  CHECK(s["layers"] != nlohmann::json{3, 3});
  CHECK(s["layers"][0].get<int>() < 3);
  auto const is_even_out = [](nlohmann::json const& of) {
    for (auto const& l : of["layouts"])
      if (l["division"] == "evenly") return l["status"] == "infeasible";
    return false;
  };
  CHECK_FALSE(is_even_out(s));  // 12 + 3 GiB fit; fewer are shorter
  nlohmann::json const less = found(
      "-p 2 -m 4 --placement linear --budget 100 --limit-bytes 12GiB,40GiB "
      "--per-layer "
      + sized_file());
  CHECK(is_even_out(less));
  CHECK(less["layers"][0].get<int>() < 3);
}

TEST_CASE("search: layers with variants") {
  nlohmann::json const s = found(
      "-p 2 -m 4 --placement linear --memory 60% --checkpoint 10% "
      "--sequence-chunks 2 --budget 300 --per-layer "
      + layers_file());
  CHECK(s["layouts"].size() >= 6);
  for (auto const& l : s["layouts"])
    if (l["status"] == "searched") CHECK(l["reached"].get<int>() >= l["bound"].get<int>());
}

TEST_CASE("search: wrong layers") {
  std::string const some = scratch_file("some_sizes.csv", "1,1,1,2,3\n1,1,1\n"),
                    two = scratch_file("two_times.csv", "1,1\n"),
                    none = scratch_file("no_stash.csv", "1,1,1,1,0\n1,1,1,1,1\n");
  std::string const layers = layers_file(), sized = sized_file();
  all_refused({{"search --per-layer " + some, "line 2: either all layers have sizes or none has"},
               {"search --per-layer " + two, "a layer has three times and perhaps two sizes"},
               {"search -p 2 --per-layer " + sized, "which are for --limit-bytes"},
               {"search -p 2 --limit-bytes 9GiB --per-layer " + layers, "has times alone"},
               {"search -p 2 --limit-bytes 9 --per-layer " + none, "a stash must be of 1 byte or more"},
               {"search -p 2 --limit-bytes 9GiB,9GiB,9GiB --per-layer " + sized, "gives 3 limits"},
               {"search -p 13 --per-layer " + layers, "12 layers: too few for a stage on each of 13"},
               {"search --forward 3 --per-layer " + layers, "--per-layer"},
               {"search --limit 3 --placement v --per-layer " + layers, "--per-layer"}});
  all_refused({{"search -p 2 --placement linear --memory 5% --per-layer " + layers,
                "number of layer activations on device"}},
              1);
}
