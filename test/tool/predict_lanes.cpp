// `--lanes` of `ashlar predict` and `plan`: the same transfers as in `ashlar simulate`.
#include "random.hpp"
#include "tool/predicting.hpp"
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace {

// Nodes of one H100, with links of this many bytes a second.
std::string slow_nodes(int nodes, double link) {
  return scratch_file("slow_nodes.json",
                      R"({"generation": "hopper", "nodes": )" + std::to_string(nodes)
                          + R"(, "devices_per_node": 1, "domain": 1, "memory_bytes": 85899345920,
        "memory_bandwidth": 3.35e12, "link_inside": 4.5e11, "units": 132, "power_watts": 700, "exponentials": 4.2e12,
        "peak_flops": {"bf16": 9.89e14, "fp32": 6.7e13}, "link_outside": )"
                          + std::to_string(link) + "}");
}

// The seconds of a run's passes, with all that they wait for.
double passes_and_bubble(nlohmann::json const& run) {
  double seconds = run["step_seconds"].get<double>();
  for (char const* after : {"stragglers", "data", "optimizer", "update"})
    seconds -= run["terms"][after].get<double>();
  return seconds;
}

double simulated_seconds(std::string const& arguments) {
  tool_result const r = run_tool("simulate " + arguments);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  auto const at = r.out.find("makespan ");
  REQUIRE(at != std::string::npos);
  std::size_t length = 0;
  double const number = std::stod(r.out.substr(at + 9), &length);
  std::string_view const unit = std::string_view(r.out).substr(at + 9 + length, 3);
  REQUIRE((unit == " ms" || unit == " us" || unit == " s,"));
  return number * (unit == " ms" ? 1e-3 : unit == " us" ? 1e-6 : 1);
}

// A decoder of 32 layers behind a tower and what leads from it.
std::string seeing_model() {
  std::string layers;
  for (int i = 0; i < 32; ++i) layers += i > 0 ? ",0" : "0";
  return scratch_file(
      "lanes_seeing.json",
      R"({"name":"seeing","architecture":{"hidden":1024,"vocabulary":32000,"kinds":[{"mix":{"kind":)"
      R"("attention","heads":16,"groups":16,"head":64},"feed":{"kind":"dense","is_gated":true,)"
      R"("width":4096}}],"layers":[)"
          + layers
          + R"(],"towers":[{"name":"eye","hidden":512,"tokens":577,"kinds":[{"mix":{"kind":"attention",)"
            R"("heads":8,"groups":8,"head":64,"sees_all":true},"feed":{"kind":"dense","width":2048}}],)"
            R"("layers":[0,0,0,0]},{"name":"bridge","tokens":576,"continues":true,"products":[)"
            R"({"rows":576,"inner":512,"columns":1024}]}]}})");
}

struct order {
  char const *predicted, *simulated;
};

}  // namespace

TEST_CASE("predict --lanes: simulate says the same of the costs that it writes") {
  random_case::dice d(58);
  constexpr order orders[] = {{"", "1f1b"},
                              {"--schedule interleaved --chunks 2", "depth-first -v 2"},
                              {"--schedule gpipe", "gpipe"},
                              {"--schedule zb-h1", "zb-h1"},
                              {"--schedule dualpipe", "dualpipe"},
                              {"--schedule v-half", "v-half"}};
  constexpr char const* lanes[] = {"one", "one-a-peer", "one-a-direction", "one-a-kind"};
  for (int i = 0; i < 24; ++i) {
    order const of = orders[i % 6];
    std::string const on = std::string(" --lanes ") + lanes[d.between(0, 3)];
    int const p = 2 * d.between(1, 4), m = p * d.between(1, 4) + p;
    std::string const run = "--model " + (i % 4 < 2 ? "8B" : seeing_model())
                            + " --sequence 2048 --cluster " + slow_nodes(p, 1e9 * d.between(1, 20))
                            + " --batch " + std::to_string(m) + " --pipeline " + std::to_string(p) + ' '
                            + of.predicted + on;
    CAPTURE(run);
    std::string const costs = (scratch() / "lane_costs.json").string();
    REQUIRE(run_tool("predict " + run + " --as costs -o " + costs).code == 0);
    CHECK(passes_and_bubble(predicted_run(run))
          == doctest::Approx(simulated_seconds(std::string(of.simulated) + " -p " + std::to_string(p)
                                               + " -m " + std::to_string(m) + " --costs " + costs + on))
                 .epsilon(1e-4));
  }
}

TEST_CASE("predict --lanes: where links are slow, transfers that block take time that no formula has") {
  std::string const run = "--model 8B --sequence 2048 --batch 16 --pipeline 8 --cluster "
                          + slow_nodes(8, 2e9) + " --chunks 2";
  auto const seconds = [&](std::string const& lanes) {
    return passes_and_bubble(predicted_run(run + lanes));
  };
  CHECK(seconds(" --lanes one") > 2 * seconds(" --lanes one-a-peer"));
  CHECK(seconds(" --lanes one-a-peer") > 1.5 * seconds(""));
  // One stage has no transfers.
  std::string const alone = "--model 8B --sequence 2048 --batch 16 --tensor 8 --cluster 8xH100";
  auto with = predicted_run(alone + " --lanes one"), without = predicted_run(alone);
  CHECK(with["step_seconds"] == without["step_seconds"]);
  CHECK(with["interval"] == without["interval"]);
}

TEST_CASE("predict --lanes: very many micro-batches are simulated in part") {
  std::string const run = "--model 8B --sequence 2048 --pipeline 4 --lanes one --cluster "
                          + slow_nodes(4, 4e9) + " --batch ";
  double const few = passes_and_bubble(predicted_run(run + "64")),
               more = passes_and_bubble(predicted_run(run + "128")),
               many = passes_and_bubble(predicted_run(run + "65536"));
  CHECK(many == doctest::Approx(few + (more - few) * (65536 - 64) / 64).epsilon(0.002));
}

TEST_CASE("predict --lanes: a run keeps them, and a choice of layouts refuses them") {
  std::string const
      run = "--model 8B --sequence 2048 --batch 16 --pipeline 8 --cluster 8xH100 --lanes one",
      file = (scratch() / "lane_run.json").string();
  REQUIRE(run_tool("predict " + run + " --as run -o " + file).code == 0);
  CHECK(predicted_run("--run " + file) == predicted_run(run));
  all_refused({{"predict " + run + " --best 2", "--lanes has no effect with --best"},
               {"predict " + run + "s", "--lanes"}});
}

TEST_CASE("plan --lanes: its plans are those of predict with the same lanes, and the order may change") {
  std::string const of = " --model 8B --batch 64 --sequence 2048 --cluster " + slow_nodes(16, 4e9);
  auto const planned = [&](std::string const& more) {
    tool_result const r = run_tool("plan --as json --top 3" + of + more);
    CAPTURE(r.err);
    REQUIRE(r.code == 0);
    return nlohmann::json::parse(r.out);
  };
  auto const with = planned(" --fix pipeline=8,tensor=1 --lanes one"),
             without = planned(" --fix pipeline=8,tensor=1");
  CHECK(with["plans"].size() == 3);
  for (nlohmann::json const& plan : with["plans"]) {
    std::string const options = plan["options"].get<std::string>();
    CHECK(contains(options, "--lanes one"));
    CHECK(predicted_run("--model 8B --cluster " + slow_nodes(16, 4e9) + ' ' + options)["step_seconds"]
          == plan["seconds"]);
    CHECK(plan["division_bound"].is_null());
  }
  CHECK(with["plans"][0]["seconds"].get<double>() > without["plans"][0]["seconds"].get<double>());
}
