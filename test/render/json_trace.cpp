// Chrome traces are JSON, and hold what they are given.
#include <ashlar/catalog.hpp>
#include <ashlar/render/chrome_trace.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

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

TEST_CASE("measured spans keep nanoseconds and any name") {
  std::string const name = "a \"quoted\" \\ name\n\x01";
  auto const trace =
      nlohmann::json::parse(chrome_trace({{1, 2, name, 1'234'567'890'123'456, 1'234'567'890'123'457}}));
  auto const& e = trace["traceEvents"].back();
  CHECK(e["name"] == name);
  CHECK(e["tid"] == 2);
  CHECK(render_detail::microseconds(1'234'567'890'123'456) == "1234567890123.456");
  CHECK(render_detail::microseconds(-1) == "-0.001");
  CHECK(e["dur"] == 0.001);
  CHECK(trace["traceEvents"][0]["args"]["name"] == "device 1");
}
