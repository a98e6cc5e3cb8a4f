// A name means one schedule: every command and C++ have the same numbers for it.
#include "tool/run_tool.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <sstream>
#include <string>

namespace {

using ashlar::tick;
using nlohmann::json;

struct named_setting {
  std::string name, placement;
  int chunk_count;            // on a device
  std::array<tick, 4> ticks;  // forward, backward_input, backward_weight, transfer

  ashlar::schedule made() const {
    return ashlar::catalog::find(name)->make(
        {.p = ashlar::devices{4},
         .m = ashlar::micro_batches{8},
         .cost = ashlar::costs(ashlar::stage_cost{ticks[0], ticks[1], ticks[2]}, ticks[3])});
  }
  // Costs of a stage, or of so many.
  std::string options(tick times = 1) const {
    std::ostringstream line;
    line << " -p 4 -m 8 --forward " << times * ticks[0] << " --backward-input " << times * ticks[1]
         << " --backward-weight " << times * ticks[2] << " --transfer " << ticks[3];
    return line.str();
  }
};

json json_of_tool(std::string const& arguments) {
  tool_result const r = run_tool(arguments, 60);
  CAPTURE(arguments);
  REQUIRE(r.code == 0);
  return json::parse(r.out);
}

void must_agree(named_setting const& x) {
  CAPTURE(x.name);
  CAPTURE(x.ticks[0]);
  ashlar::schedule const s = x.made();
  auto const words = [](char const* what, tick t) { return what + std::to_string(t) + " ticks"; };

  std::string const shown = run_tool("show " + x.name + x.options() + " --width 0").out;
  CHECK(contains(shown, words("makespan     ", makespan(s))));
  CHECK(contains(shown, words("span         ", span(s))));

  json const emitted = json_of_tool("emit " + x.name + x.options() + " --as json");
  CHECK(emitted["makespan"] == makespan(s));
  CHECK(emitted["span"] == span(s));

  // A p-th of the model is all chunks of a device.
  json const compared = json_of_tool("compare " + x.name + x.options(x.chunk_count) + " --as json")[0];
  CHECK(compared["makespan"] == doctest::Approx(static_cast<double>(makespan(s))));
  CHECK(compared["span"] == doctest::Approx(static_cast<double>(span(s))));

  json const parts = json_of_tool("frontier" + x.options() + " --placement " + x.placement
                                  + " --from 1 --steps 1 --budget 1 --as json");
  // Of those alike only the first has a row.
  int found = 0;
  for (json const& row : parts[0]["published"]) {
    bool const is_alike = row["overhead_span"] == doctest::Approx(bubble_rate_span(s));
    if (row["schedule"] == x.name) CHECK(is_alike);
    found += is_alike ? 1 : 0;
  }
  CHECK(found >= 1);
}

}  // namespace

TEST_CASE("show, emit, compare and frontier have the numbers of C++") {
  for (std::array<tick, 4> const& ticks : {std::array<tick, 4>{1, 1, 1, 0}, {10, 13, 7, 1}}) {
    for (char const* name : {"v-min", "v-half", "v-zb", "1f1b-v", "zbv"})
      must_agree({name, "v", 2, ticks});
    for (char const* name : {"zb-1p", "zb-2p", "zb-h1", "1f1b"}) must_agree({name, "linear", 1, ticks});
  }
}

TEST_CASE("tradeoff has the numbers of C++") {
  std::string const model = scratch_file(
      "agreed_model.json",
      R"({"layers": 8, "forward": 1, "backward": 2, "transfer": 0, "critical_batch": 1000})");
  std::string const cluster = scratch_file(
      "agreed_cluster.json", R"({"pipeline": 4, "loops": [1], "micro_batches": [8], "devices": [4],
                                 "schedules": ["v-min", "v-half", "v-zb", "1f1b-v", "zbv"]})");
  json const all = json_of_tool("tradeoff --model " + model + " --cluster " + cluster + " --as json");
  REQUIRE(all.size() == 5);
  for (json const& one : all) {
    ashlar::schedule const s =
        named_setting{one["schedule"].get<std::string>(), "v", 2, {1, 1, 1, 0}}.made();
    CHECK(one["utilisation"][0]["utilisation"] == doctest::Approx(1 - bubble_rate(s)));
  }
}

TEST_CASE("V-Half is the finished schedule, and what a search makes of others says so") {
  CHECK(contains(run_tool("show v-half -p 4 -m 8").out, "makespan     53 ticks"));
  tool_result const published = run_tool("show v-min -p 5 -m 10");
  CHECK(contains(published.out, "to gain      --improve 1000000 finds"));
  CHECK(!contains(published.out, "improved"));
  CHECK(!contains(run_tool("show 1f1b -p 4 -m 8").out, "to gain"));

  std::string const options = "1f1b-v -p 4 -m 8 --improve 20000 --improve-seed 3";
  std::string const words = "1f1b-v (order improved by search, 20000 passes, seed 3)";
  CHECK(contains(run_tool("show " + options).out, words + ": "));
  json const improved = json_of_tool("emit " + options + " --as json");
  CHECK(improved["schedule"] == words);
  ashlar::schedule const s = named_setting{"1f1b-v", "v", 2, {1, 1, 1, 0}}.made();
  CHECK(improved["makespan"].get<tick>() + 3 * improved["span"].get<tick>()
        <= makespan(s) + 3 * span(s));
  tool_result const pairs = run_tool("show dualpipe -p 4 -m 8 --improve 1000");
  CHECK(pairs.code == 2);
  CHECK(contains(pairs.err, "without overlapped pairs"));
}
