// `ashlar plan` leaves out schedules by their bounds, and shows what it would show without.
#include "random.hpp"
#include "random_cases.hpp"
#include "tool/planning.hpp"
#include <ashlar/catalog/entries.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace {

// All schedules that plan considers where none is named. Those that are named are all executed.
std::string all_schedules() {
  std::string names;
  for (ashlar::catalog::entry const& each : ashlar::catalog::entries) {
    ashlar::catalog::shape const few{
        .p = ashlar::devices{2}, .m = ashlar::micro_batches{8}, .v = ashlar::chunks{2}};
    if (each.check(few).ok() && !is_chain(each.make(few).graph)) continue;
    names += (names.empty() ? "" : ",") + std::string(each.name);
  }
  return names;
}

std::string random_options(random_case::dice& d) {
  char const* const models[] = {"8B", "llama3-70b", "mixtral-8x7b", "qwen3-30b-a3b"};
  char const* const clusters[] = {"2x8xH100", "4x8xA100", "8xH200", "1x8xH100+1x8xA100"};
  char const* const parts[] = {"", " --fix pipeline=4", " --fix tensor=2", " --fix expert=4"};
  std::string asked = std::string("--model ") + models[d.between(0, 3)] + " --cluster "
                      + clusters[d.between(0, 3)] + " --sequence "
                      + std::to_string(2048 << d.between(0, 2)) + " --batch "
                      + std::to_string(16 << d.between(0, 3)) + " --top "
                      + std::to_string(d.between(1, 8)) + parts[d.between(0, 3)];
  if (d.percent(30)) asked += " --objective cost";
  return asked;
}

}  // namespace

TEST_CASE("plan: the plans are those of a search that executes every schedule") {
  random_case::dice d(54);
  std::string const named = " --schedules " + all_schedules();
  int executed = 0;
  for (int round = 0; round < random_cases(8); ++round) {
    std::string const asked = random_options(d);
    CAPTURE(asked);
    tool_result const bounded = run_tool("plan --as json " + asked);
    tool_result const whole = run_tool("plan --as json " + asked + named);
    REQUIRE(bounded.code == whole.code);
    if (bounded.code != 0) continue;
    auto const plans = nlohmann::json::parse(bounded.out)["plans"];
    CHECK(plans == nlohmann::json::parse(whole.out)["plans"]);
    for (auto const& each : plans) {
      std::string const schedule = each["schedule"];
      executed += schedule != "none" && schedule != "1f1b" && schedule != "interleaved";
    }
  }
  CHECK(executed > 0);
}
