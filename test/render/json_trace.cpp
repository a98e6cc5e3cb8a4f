// Chrome traces are JSON, and hold their input.
#include "catalog_cases.hpp"
#include "violations.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/core/part_costs.hpp>
#include <ashlar/render/chrome_trace.hpp>
#include <ashlar/render/needs.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/simulate/part_timeline.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace ashlar;

TEST_CASE("a schedule's trace has an event a pass") {
  schedule const s = catalog::find("1f1b")->make({devices{4}, micro_batches{8}});
  auto const trace = nlohmann::json::parse(chrome_trace(s));
  std::size_t passes = 0;
  for (auto const& e : trace["traceEvents"]) {
    if (e["ph"] != "X") continue;
    ++passes;
    if (e["name"] == "0B0") {
      CHECK(e["pid"] == 0);
      CHECK(e["ts"] == 10);
      CHECK(e["dur"] == 2);
      CHECK(e["cat"] == "backward");
      CHECK(e["args"]["micro_batch"] == 0);
    }
  }
  CHECK(passes == 4 * 8 * 2);
}

TEST_CASE("every transfer is a flow from within its producer to within its consumer") {
  for (catalog_case const& c : catalog_cases({4}, {8}, costs(stage_cost{2, 3, 4}, 1))) {
    CAPTURE(c);
    schedule const s = c.schedule();
    auto const trace = nlohmann::json::parse(chrome_trace(s));
    struct span {
      int device;
      double start, end;
    };
    std::map<std::string, span> passes;
    std::map<int, nlohmann::json> begins, ends;
    for (auto const& e : trace["traceEvents"]) {
      double const at = e.value("ts", 0.0);
      if (e["ph"] == "X") passes[e["name"]] = {e["pid"], at, at + e["dur"].get<double>()};
      if (e["ph"] == "s") CHECK(begins.emplace(e["id"], e).second);
      if (e["ph"] == "f") CHECK(ends.emplace(e["id"], e).second);
    }
    auto const all = needs_of(s);
    std::set<std::pair<std::string, std::string>> expected, seen;
    for (needing_pass const& p : all)
      for (std::size_t n : p.needs)
        if (all[n].device != p.device) expected.emplace(to_string(all[n].what), to_string(p.what));
    CHECK(begins.size() == expected.size());
    REQUIRE(ends.size() == expected.size());
    for (auto const& [id, begin] : begins) {
      auto const& end = ends.at(id);
      CHECK(begin["name"] == end["name"]);
      CHECK(begin["pid"] != end["pid"]);
      CHECK(end["bp"] == "e");
      span const& from = passes.at(begin["name"]);
      CHECK(begin["pid"] == from.device);
      CHECK(begin["ts"] > from.start);
      CHECK(begin["ts"] < from.end);
      CHECK(begin["ts"] > from.end - 0.01);
      for (auto const& [name, to] : passes)
        if (end["pid"] == to.device && std::abs(end["ts"].get<double>() - to.start) < 0.01)
          if (expected.contains({begin["name"], name}))  // an overlapped pair starts as one
            seen.emplace(begin["name"], name);
      CHECK(end["ts"] > from.end + 1);  // the transfer takes a tick
    }
    CHECK(seen == expected);
  }
}

TEST_CASE("instants have a fraction where they need one, on either side of zero") {
  using render_detail::instant;
  CHECK(instant(3'001) == "3.001");
  CHECK(instant(1) == "0.001");
  CHECK(instant(-999) == "-0.999");
  CHECK(instant(2'999) == "2.999");
  CHECK(instant(-1) == "-0.001");
  CHECK(instant(-2'001) == "-2.001");
  CHECK(instant(-2'000) == "-2");
  CHECK(instant(12'500) == "12.500");
}

TEST_CASE("a trace of parts has a thread for what computes and one for what exchanges") {
  using enum part_resource;
  part_costs const parts{
      .stages = {{.forward = {{compute, 4}, {exchange, 3}}, .backward = {{exchange, 0}, {compute, 2}}}}};
  schedule const s = catalog::find("1f1b")->make({devices{2}, micro_batches{2}, costs_of(parts)});
  part_timeline t = time_parts(s, parts);
  auto const trace = nlohmann::json::parse(chrome_trace(t, 500.0));
  std::vector<std::string> threads;
  int spans = 0;
  for (auto const& e : trace["traceEvents"]) {
    if (e["name"] == "thread_name") threads.push_back(e["args"]["name"]);
    if (e["ph"] != "X") continue;
    ++spans;
    bool const exchanges = e["tid"] == 1;
    bool const is_forward = e["cat"] == "forward";
    CHECK(e["dur"] == (exchanges ? 1.5 : is_forward ? 2.0 : 1.0));
    CHECK(e["args"]["number"] == (exchanges || !is_forward ? 1 : 0));
    if (e["name"] == "1F1" && exchanges) CHECK((e["pid"] == 1 && e["ts"] == 20 / 2.0));
  }
  CHECK(spans == 2 * 2 * (2 + 1));
  CHECK(threads == std::vector<std::string>{"compute", "exchange", "compute", "exchange"});
  CHECK_BREAKS(ticks_fit, chrome_trace(t, 0.0));
  CHECK_BREAKS(ticks_fit, chrome_trace(t, 1e18));
  t.devices[0].parts[0].of = 4;
  CHECK_BREAKS(tables_agree, chrome_trace(t));
  t.devices[0].parts[0] = {.end = max_tick};
  CHECK_BREAKS(ticks_fit, chrome_trace(t));
}

TEST_CASE("a tick may be of any length") {
  schedule const s = catalog::find("1f1b")->make({devices{2}, micro_batches{2}});
  auto const trace = nlohmann::json::parse(chrome_trace(s, 500.0));
  double last = 0;
  for (auto const& e : trace["traceEvents"])
    if (e["ph"] == "X") last = std::max(last, e["ts"].get<double>() + e["dur"].get<double>());
  CHECK(last == static_cast<double>(makespan(s)) / 2);
}

TEST_CASE("counters follow the activations that devices hold") {
  schedule const s = catalog::find("v-half")->make({devices{4}, micro_batches{8}});
  auto const trace = nlohmann::json::parse(chrome_trace(s));
  std::vector<int> peak(4, 0), last(4, -1);
  for (auto const& e : trace["traceEvents"]) {
    if (e["ph"] != "C") continue;
    CHECK(e["name"] == "chunk activations");
    auto const d = e["pid"].get<std::size_t>();
    last[d] = e["args"]["held"];
    peak[d] = std::max(peak[d], last[d]);
  }
  CHECK(peak == peak_activations(s));
  CHECK(last == std::vector<int>(4, 0));
}

TEST_CASE("measured spans keep nanoseconds and any name") {
  std::string const name = "a \"quoted\" \\ name\n\x01";
  auto const trace = nlohmann::json::parse(
      chrome_trace({{1, 2, name, 1'234'567'890'123'456, 1'234'567'890'123'457}}, 3));
  auto const& e = trace["traceEvents"].back();
  CHECK(e["name"] == name);
  CHECK(e["tid"] == 2);
  CHECK(render_detail::microseconds(1'234'567'890'123'456) == "1234567890123.456");
  CHECK(render_detail::microseconds(-1) == "-0.001");
  CHECK(e["dur"] == 0.001);
  CHECK(trace["traceEvents"][0]["args"]["name"] == "device 1");
}

TEST_CASE("threads are called what their lanes do") {
  auto const names = [](int lane_count, bool offloads = false, bool scatters = false) {
    std::vector<trace_span> spans;
    for (int lane = 0; lane < lane_count; ++lane) spans.push_back({.lane = lane, .name = "x"});
    std::vector<std::string> found;
    auto const trace = nlohmann::json::parse(chrome_trace(spans, lane_count, offloads, scatters));
    for (auto const& e : trace["traceEvents"])
      if (e["name"] == "thread_name") found.push_back(e["args"]["name"]);
    return found;
  };
  CHECK(names(3) == std::vector<std::string>{"compute", "transfers", "collectives"});
  CHECK(names(4) == std::vector<std::string>{"compute", "transfers 0", "transfers 1", "collectives"});
  CHECK(names(5, true)
        == std::vector<std::string>{"compute", "transfers", "collectives", "copies to the host",
                                    "copies from the host"});
  CHECK(names(6, true, true)
        == std::vector<std::string>{"compute", "transfers", "collectives", "scatters",
                                    "copies to the host", "copies from the host"});
}
