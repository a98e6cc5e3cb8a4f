// Commands and trainings that go on without some of their devices.
#include "tool/training.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

using namespace training_test;

namespace {

nlohmann::json lost_run(std::string const& line) {
  tool_result const r = run_tool("simulate " + line + " --as json");
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return nlohmann::json::parse(r.out);
}

}  // namespace

TEST_CASE("a schedule without devices has the stages of all on the others") {
  nlohmann::json const run = lost_run("1f1b -p 4 -m 8 --lost-devices 2");
  CHECK(run.at("devices") == 3);
  CHECK(run.at("stages") == 4);
  CHECK(contains(run.at("schedule").get<std::string>(), "1f1b (without device 2; stage 2 to "));
  CHECK(lost_run("1f1b -p 4 -m 8 --lost-devices none").at("schedule") == "1f1b");
  CHECK(lost_run("1f1b -p 4 -m 8 --lost-devices 3,1 --lost-devices 0").at("devices") == 3);
  // Two stages may leave a device that is slow.
  auto const length = [](std::string const& more) {
    return lost_run("depth-first -p 4 -m 8 -v 4 --speeds 100,100,40,100" + more).at("makespan");
  };
  CHECK(length(" --moved-stages 2") < length(""));
}

TEST_CASE("devices that cannot be lost are refused") {
  auto const refused = [](std::string const& more, std::string const& words) {
    tool_result const r = run_tool("simulate 1f1b -p 2 -m 2 --lost-devices " + more);
    CAPTURE(r.err);
    CHECK(r.code == 2);
    CHECK(contains(r.err, words));
  };
  refused("2", "--lost-devices: 1f1b has no device 2, only 0 to 1");
  refused("0,1", "--lost-devices: 1f1b has no device left");
  refused("-1", "--lost-devices");
  refused("0,,1", "--lost-devices has an empty entry");
}

TEST_CASE("a training goes on from a checkpoint without a device, bit by bit") {
  for (std::string const how :
       {"--schedule 1f1b -p 3", "--schedule v-half -p 3", "--schedule zb-h1 -p 4 --data-ranks 2"}) {
    CAPTURE(how);
    std::string const whole = fresh_folder("whole");
    std::string const line = "train -m 4 --steps 6 " + how + tiny + corpus();
    REQUIRE(run_tool(line + " --save-every 3 --save " + whole).code == 0);
    for (char const* lost : {"0", "2", "1,2"}) {
      CAPTURE(lost);
      std::string const folder = fresh_folder("fewer");
      tool_result const r = run_tool(line + " --lost-devices " + lost + " --verify --save " + folder
                                     + " --resume " + checkpoint_path(whole, 3));
      INFO(r.err);
      CHECK(r.code == 0);
      CHECK(contains(r.out, "bitwise equal to the sequential model's"));
      CHECK(learned_after(folder, 6) == learned_after(whole, 6));
    }
  }
}

TEST_CASE("each restart of a training may have one more device less") {
  std::string const whole = fresh_folder("whole"), folder = fresh_folder("fewer");
  std::string const line =
      "train --schedule 1f1b -p 3 -m 4 --steps 150 --save-every 5" + tiny + corpus() + " --save ";
  CHECK(run_tool(line + whole).code == 0);
  {
    running_program const run("'" ASHLAR_TOOL "' " + line + folder
                              + " --restart 2 --lost-devices 1,0 2>&1");
    run.wait_for("1f1b on 3 devices");
    run.wait_for("saved " + checkpoint_path(folder, 15));
    CHECK(kill_those_with({supervised, folder}) == 1);
    run.wait_for("without device 1\n");
    run.wait_for("on 2 devices");
    run.wait_for("saved " + checkpoint_path(folder, 60));
    CHECK(kill_those_with({supervised, folder}) == 1);
    run.wait_for("without device 1, 0\n");
    tool_result const r = run.end();
    CHECK(r.code == 0);
    CHECK(contains(r.out, "restart 2 of 2 from " + folder));
    CHECK(contains(r.out, "on 1 device,"));
  }
  CHECK(learned_after(folder, 150) == learned_after(whole, 150));
}
