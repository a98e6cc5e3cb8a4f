// `ashlar trace-diff`: a measured timeline beside the planned one, and the causes of the difference.
#include "tool/refusals.hpp"
#include "tool/training.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

using namespace training_test;

namespace {

struct span {
  char const* name;
  int device;
  double start, length;  // microseconds
};

std::string trace_with(std::string const& name, std::vector<span> const& spans) {
  auto events = nlohmann::json::array();
  for (span const& s : spans)
    events.push_back({{"name", s.name},
                      {"ph", "X"},
                      {"pid", s.device},
                      {"tid", 0},
                      {"ts", s.start},
                      {"dur", s.length}});
  return scratch_file(name, nlohmann::json{{"traceEvents", events}}.dump());
}

// Two stages, one micro-batch.
std::string planned_trace() {
  return trace_with(
      "planned.json",
      {{"0F0", 0, 0, 1000}, {"1F0", 1, 1000, 1000}, {"1B0", 1, 2000, 2000}, {"0B0", 0, 4000, 2000}});
}
// It begins at another time; 1F0 takes 3 ms longer, and 0B0 begins half a ms later.
std::string measured_trace() {
  return trace_with("measured.json", {{"send 0F0 to device 1", 0, 6000, 10},
                                      {"0F0", 0, 5000, 1000},
                                      {"1F0", 1, 6000, 4000},
                                      {"1B0", 1, 10000, 2000},
                                      {"0B0", 0, 12500, 2000}});
}

}  // namespace

TEST_CASE("trace-diff: a share that rounds to nothing has no sign") {
  std::string const shorter = trace_with(
      "shorter.json",
      {{"0F0", 0, 0, 1000}, {"1F0", 1, 1000, 1000}, {"1B0", 1, 2000, 2000}, {"0B0", 0, 4000, 1999}});
  std::string const out = run_tool("trace-diff " + shorter + " " + planned_trace()).out;
  CHECK(contains(out, "difference      -0.001 ms, 0.0 %"));
}

TEST_CASE("trace-diff names what makes a step longer than planned") {
  std::string const line = "trace-diff " + measured_trace() + " " + planned_trace();
  tool_result const r = run_tool(line + " --most 2");
  INFO(r.err);
  CHECK(r.code == 0);
  CHECK(contains(r.out, "measured         9.500 ms"));
  CHECK(contains(r.out, "planned          6.000 ms"));
  CHECK(contains(r.out, "difference      +3.500 ms, 58.3 %"));
  CHECK(contains(r.out,
                 "of the 4 passes on the measured longest path, these add +3.500 ms of +3.500:\n"
                 "      +3.000 ms  1F0 on device 1 took longer\n"
                 "      +0.500 ms  device 0 waited longer before 0B0\n"));
  tool_result const back =
      run_tool("trace-diff " + planned_trace() + " " + measured_trace() + " --most 1");
  CHECK(contains(back.out, "-3.000 ms  1F0 on device 1 took less"));

  std::string const page = run_tool(line + " --as html --most 1").out;
  CHECK(contains(page, "1F0: planned 1.000 ms at 1.000, measured 4.000 ms at 1.000"));
  CHECK(page.find("class=\"named\"") == page.rfind("class=\"named\""));
  CHECK(contains(page, "class=\"named\"><title>1F0: "));
  auto const events = nlohmann::json::parse(run_tool(line + " --as trace").out)["traceEvents"];
  int measured = 0, planned = 0, names = 0;
  for (auto const& e : events) {
    names += e["ph"] == "M";
    if (e["ph"] != "X") continue;
    (e["pid"].get<int>() % 2 == 0 ? measured : planned)++;
    if (e["name"] == "0B0") CHECK(e["ts"] == (e["pid"] == 0 ? 7500.0 : 4000.0));
  }
  CHECK(measured == 5);
  CHECK(planned == 4);
  CHECK(names == 4);
}

TEST_CASE("trace-diff takes what train and simulate write") {
  std::string const step = (scratch() / "measured_step.json").string(),
                    plan = (scratch() / "plan.json").string();
  CHECK(run_tool("train --schedule zb-h1 -p 2 -m 3 --steps 2 --data-ranks 2 --trace " + step + tiny
                 + corpus())
            .code
        == 0);
  CHECK(run_tool("simulate zb-h1 -p 2 -m 3 --forward 20us --backward-input 20us --backward-weight 10us "
                 "--as trace -o "
                 + plan)
            .code
        == 0);
  tool_result const r = run_tool("trace-diff " + step + " " + plan);
  INFO(r.err);
  CHECK(r.code == 0);
  CHECK(contains(r.out, "planned          0.180 ms"));
  CHECK(contains(r.out, "2 devices of the measured timeline are other ranks' and left out"));
  CHECK(contains(r.out, " on the measured longest path, these add "));
}

TEST_CASE("timelines that cannot be compared are refused") {
  std::string const good = planned_trace();
  std::string const other = trace_with("other.json", {{"0F0", 0, 0, 1}, {"0I0", 0, 1, 1}});
  std::string const twice = trace_with("twice.json", {{"0F0", 0, 0, 1}, {"0F0", 0, 1, 1}});
  std::string const far = trace_with("far.json", {{"0F0", 0, 0, 1}, {"9F99999", 0, 1, 1}});
  std::string const circle = trace_with("circle.json", {{"0B0", 0, 0, 1}, {"0F0", 0, 1, 1}});
  all_refused(
      {{"trace-diff " + other + " " + good, "which '" + good + "' lacks"},
       {"trace-diff " + good + " " + other, "on device 0, which '"},
       {"trace-diff " + twice + " " + good, "has 0F0 on device 0 twice"},
       {"trace-diff " + far + " " + far, "lacks passes: it names 10 stages"},
       {"trace-diff " + good + " " + trace_with("none.json", {{"send", 0, 0, 1}}), "there is no pass"},
       {"trace-diff " + good + " " + trace_with("short.json", {{"0F0", 0, 0, -1}}),
        "\"dur\" must be a number from 0"},
       {"trace-diff " + good + " " + scratch_file("list.json", "{\"traceEvents\": 1}"),
        "must be a list"},
       {"trace-diff " + good + " /no/such/file", "cannot read '/no/such/file'"}});
  CHECK(run_tool("trace-diff " + circle + " " + circle).code == 0);  // it ends
}
