// Timelines out of JSON.
#include <ashlar/interop/json_trace.hpp>
// The header above comes first: it needs nothing before it.
#include "refused_text.hpp"
#include "shapes.hpp"
#include <ashlar/render/chrome_trace.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

using namespace shapes;

TEST_CASE("what chrome_trace() writes comes back, in nanoseconds") {
  schedule const s = shift(one_f_one_b(2, 3), 4);
  constexpr double tick_ns = 2500;
  json_trace const read = read_json_trace(chrome_trace(s, tick_ns));
  CHECK(read.device_count == 2);
  std::size_t passes = 0;
  for (trace_event const& e : read.events) {
    if (!e.what) continue;
    ++passes;
    bool found = false;
    for (timed_pass const t : each_pass(s.order[static_cast<std::size_t>(e.device)]))
      if (t.what == *e.what)
        found = e.start == 2500 * (t.start - 4) && e.end == 2500 * (s.end_of(t, e.device) - 4);
    CAPTURE(e.name);
    CHECK(found);
  }
  CHECK(passes == 12);
}

TEST_CASE("times count from the first pass, and what is no event that lasted is left out") {
  json_trace const read = read_json_trace(R"([
    {"ph": "M", "name": "process_name"},
    {"ph": "X", "name": "send 0F0 to device 1", "pid": 0, "tid": 1, "ts": 1, "dur": 0.5},
    {"ph": "X", "name": "1F0", "pid": 1, "tid": 0, "ts": 2.25, "dur": 3}])");
  REQUIRE(read.events.size() == 2);
  CHECK(read.events[0]
        == trace_event{.lane = 1, .name = "send 0F0 to device 1", .start = -1250, .end = -750});
  CHECK(read.events[1]
        == trace_event{.device = 1, .name = "1F0", .start = 0, .end = 3000, .what = pass{F, 1, 0}});
}

TEST_CASE("a text that is no timeline is refused, with the place and the key") {
  auto const refused = [](std::string const& text, std::string const& why) {
    refused_text([&] { read_json_trace(text, "mine.json"); }, "'mine.json', line 1, column " + why);
  };
  refused("{}", "1: lacks \"traceEvents\"");
  refused(R"({"traceEvents": 1})", "17: \"traceEvents\" must be a list");
  refused("[]", "1: there is no pass");
  refused("[1]", "2: lacks \"ph\"");
  refused(R"([{"ph": "X", "ts": 0}])", "2: lacks \"dur\"");
  refused(R"([{"ph": "X", "ts": 1e13, "dur": 1}])",
          "20: \"ts\" must be a number from -1000000000000 to 1000000000000");
  refused(R"([{"ph": "X", "ts": 0, "dur": 1, "pid": 1e6}])",
          "40: \"pid\" must be a number from 0 to 102400");
}
