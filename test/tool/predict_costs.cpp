// `ashlar predict --costs` from end to end.
#include "tool/predicting.hpp"
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace {

std::string const measured_run =
    "--model 8B --cluster 2x8xH100 --sequence 4096 --batch 64 --tensor 2 --pipeline 4 --stack "
    "megatron-core ";

std::string costs_of_stages(std::string const& name, std::string const& stages) {
  return scratch_file(name, R"({"costs": {"unit": "ms", "stages": [)" + stages + R"(],
    "message_bytes": 1000000, "links": {"inside": {"latency": 1, "bytes_per_second": 1e9}}}})");
}

}  // namespace

TEST_CASE("predict --costs: measured passes take the place of the formulas") {
  std::string const file =
      costs_of_stages("alike.json", R"({"forward": 20, "backward_input": 25, "backward_weight": 15})");
  auto const run = predicted_run(measured_run + "--costs " + file);
  // There are 32 micro-batches, four devices, and transfers of 2 ms after either pass.
  CHECK(run["terms"]["measured"].get<double>() == doctest::Approx(32 * 0.06));
  CHECK(run["terms"]["transfer"].get<double>() == doctest::Approx(32 * 0.004));
  CHECK(run["terms"]["bubble"].get<double>() == doctest::Approx(3 * 0.064));
  for (char const* formula : {"products", "attention", "bytes", "tensor", "host"})
    CHECK(run["terms"][formula] == 0.0);
  auto const usual = predicted_run(measured_run);
  CHECK(run["terms"]["optimizer"] == usual["terms"]["optimizer"]);
  CHECK(run["peak_bytes"] == usual["peak_bytes"]);
  CHECK(run["interval"].is_null());
  CHECK(usual["terms"]["measured"] == 0.0);
  std::string const text = run_tool("predict " + measured_run + "--costs " + file).out;
  CHECK(contains(text, "passes, as they were measured"));
  CHECK(!contains(text, "What to change first"));
  // Weight passes fill the bubble.
  auto const zb = predicted_run(measured_run + "--schedule zb-h1 --costs " + file);
  CHECK(zb["terms"]["bubble"].get<double>() < 0.75 * run["terms"]["bubble"].get<double>());
}

TEST_CASE("predict --costs: a stage that is slower makes the step longer") {
  std::string const each = R"({"forward": 20, "backward_input": 25, "backward_weight": 15})";
  std::string const slow = R"({"forward": 30, "backward_input": 25, "backward_weight": 15})";
  auto const run = predicted_run(
      measured_run + "--costs "
      + costs_of_stages("uneven_stages.json", each + "," + each + "," + slow + "," + each));
  CHECK(run["longest_device"] == 2);
  CHECK(run["terms"]["measured"].get<double>() == doctest::Approx(32 * 0.07));
}

TEST_CASE("predict --costs: a trace of the predicted step gives the step again") {
  for (char const* schedule : {"1f1b", "zb-h1", "v-half"}) {
    CAPTURE(schedule);
    std::string const run = measured_run + "--schedule " + schedule + " ";
    std::string const trace = (scratch() / "step.json").string();
    REQUIRE(run_tool("predict " + run + "--as trace -o " + trace).code == 0);
    auto const before = predicted_run(run), after = predicted_run(run + "--costs " + trace);
    // In 1F1B, passes of the trace have their transfers in them.
    CHECK(after["step_seconds"].get<double>()
          == doctest::Approx(before["step_seconds"].get<double>()).epsilon(0.01));
    CHECK(after["terms"]["measured"].get<double>() > 0);
  }
}

TEST_CASE("predict --costs: what is no measurement of these stages is refused") {
  std::string const go = "predict " + measured_run + "--costs ";
  std::string const each = R"({"forward": 20, "backward_input": 25, "backward_weight": 15})";
  auto const trace = [](char const* name, std::string const& passes) {
    return scratch_file(name, R"({"traceEvents": [)" + passes + "]}");
  };
  auto const pass = [](std::string const& name) {
    return R"({"ph": "X", "name": ")" + name + R"(", "pid": 0, "tid": 0, "ts": 0, "dur": 5})";
  };
  all_refused({
      {go + costs_of_stages("two.json", each + "," + each),
       "--costs has times of 2 stages, and the run 4"},
      {go + "no.json", "cannot read 'no.json'"},
      {go + scratch_file("empty_costs.json", "{}"), "lacks"},
      {go + trace("half.json", pass("0F0")), "stage 0 lacks a backward"},
      {go + trace("gap.json", pass("0F0") + "," + pass("0B0") + "," + pass("2F0") + "," + pass("2B0")),
       "stage 1 lacks a forward"},
      {go + trace("far.json", pass("99999999F0")), "not every stage before it"},
  });
}
