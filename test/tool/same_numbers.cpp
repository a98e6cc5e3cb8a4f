// `plan`, `predict` and `simulate` have one number for one run, whatever is asked.
#include "random.hpp"
#include "random_cases.hpp"
#include "tool/planning.hpp"
#include "tool/predicting.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace {

struct asked_plan {
  std::string model, cluster, rest;
};

asked_plan random_question(random_case::dice& d) {
  char const* const clusters[] = {
      "8xH100", "2x4xA100", "2x4xH100+1x8xA100", "1x4xH200+2x2xH100", "1x8xB200+1x8xH100", "4xMI300X"};
  char const* const models[] = {"8B", "gpt2", "mistral-7b", "qwen3-30b-a3b"};
  std::string const listed = scratch_file(
      "measured_here.json",
      R"({"sequence": 512, "measured": [{"layers": [{"forward_ms": 3, "backward_ms": 7, "parameters": 1e8,
      "kept_bytes": 1e8, "output_bytes": 1e6, "count": 12}]}, {"tensor": 2, "layers": [{"forward_ms": 2,
      "backward_ms": 4, "parameters": 5e7, "kept_bytes": 5e7, "output_bytes": 1e6, "count": 12}]}]})");
  asked_plan a;
  a.cluster = clusters[d.between(0, 5)];
  bool const is_measured = d.percent(25);
  a.model = is_measured ? listed : models[d.between(0, 3)];
  a.rest = " --batch " + std::to_string(16 << d.between(0, 2)) + " --top 4";
  if (!is_measured) a.rest += " --sequence " + std::to_string(1024 << d.between(0, 1));
  if (d.percent(50)) a.rest += " --schedules 1f1b,interleaved";
  if (d.percent(40)) a.rest += " --fix pipeline=2";
  return a;
}

}  // namespace

TEST_CASE("same numbers: a plan's rows asked of predict, to the last digit") {
  random_case::dice d(20);
  int rows = 0;
  for (int round = 0; round < random_cases(12); ++round) {
    asked_plan const a = random_question(d);
    std::string const asked = "--model " + a.model + " --cluster " + a.cluster + a.rest;
    CAPTURE(asked);
    tool_result const r = run_tool("plan --as json " + asked);
    CAPTURE(r.err);
    if (r.code == 2) continue;  // no layout is possible
    nlohmann::json const answer = nlohmann::json::parse(r.out);
    for (auto const& plan : answer["plans"]) {
      std::string const options = plan["options"];
      CAPTURE(options);
      auto const alone = predicted_run("--model " + a.model + " --cluster "
                                       + plan["cluster"].get<std::string>() + " " + options);
      CHECK(alone["step_seconds"] == plan["seconds"]);
      CHECK(alone["peak_bytes"] == plan["bytes"]);
      ++rows;
    }
  }
  CHECK(rows > random_cases(20));
}
