// Pictures from the command line: effects of the options, and refusals.
#include "tool/run_tool.hpp"
#include <ashlar/catalog/entries.hpp>

#include <doctest/doctest.h>

#include <string>

namespace {

std::size_t count(std::string const& text, std::string const& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}
std::string picture(std::string const& options) {
  tool_result const r = run_tool("emit 1f1b -p 4 -m 8 --as svg " + options);
  CHECK(r.code == 0);
  CHECK(r.err.empty());
  return r.out;
}

}  // namespace

TEST_CASE("each option of an SVG picture adds what it says") {
  std::string const plain = picture("");
  CHECK(contains(plain, "<title>1f1b, 4 devices, 8 micro-batches</title>"));
  CHECK(contains(plain, "prefers-color-scheme:dark"));
  for (char const* part : {"activations sent", "gradients sent", "peak 4", "interval "})
    CHECK(!contains(plain, part));
  CHECK(contains(picture("--transfers"), "gradients sent"));
  CHECK(contains(picture("--memory"), "peak 4"));
  std::string const dark = picture("--dark"), light = picture("--light");
  CHECK(contains(dark, ".page{fill:#0d1117}"));
  CHECK(contains(light, ".page{fill:#fff}"));
  CHECK(!contains(dark + light, "prefers-color-scheme"));
  for (std::string const chart :
       {"compare 1f1b zb-h1 -p 2 -m 4", "frontier 1f1b -p 2 -m 4 --from 1 --steps 1 --budget 1",
        "search -p 2 -m 4 --placement linear --budget 5"}) {
    tool_result const drawn = run_tool(chart + " --as svg --light");
    CHECK(drawn.out.starts_with("<svg"));
    CHECK(!contains(drawn.out, "prefers-color-scheme"));
    CHECK(contains(run_tool(chart + " --as json --light").err, "--light has no effect with --as json"));
  }
  std::string const block = picture("--block --dark");
  CHECK(contains(block, "interval 3"));
  CHECK(count(block, ": lifespan ") == 4);
  CHECK(contains(block, ".page{fill:#0d1117}"));
}

TEST_CASE("a page holds one schedule or two") {
  tool_result const one = run_tool("emit zb-h1 -p 2 -m 3 --as html");
  CHECK(one.code == 0);
  CHECK(contains(one.out, "<title>zb-h1</title>"));
  CHECK(count(one.out, "\"makespan\":") == 1);
  tool_result const two = run_tool("emit zb-h1 -p 2 -m 3 --as html --against v-half --dark");
  CHECK(two.code == 0);
  CHECK(contains(
      two.out,
      "<title>zb-h1 and v-half; v-half: costs are of 1/2 of the model, and a stage is 1/4</title>"));
  // Makespans are those of the table, where a tick is that of a p-th of the model.
  std::string const table = run_tool("compare zb-h1 v-half -p 2 -m 3 --as csv").out;
  CHECK(contains(table, "zb-h1,2,2,3,10,"));
  CHECK(contains(two.out, "\"makespan\":20"));
  tool_result const given = run_tool("emit zb-h1 -p 2 -m 3 --as html --against 1f1b");
  CHECK(contains(given.out, "<title>zb-h1 and 1f1b</title>"));
  CHECK(count(two.out, "\"makespan\":") == 2);
  CHECK(contains(two.out, "\"microBatches\":3"));
  CHECK(!contains(two.out, "prefers-color-scheme"));
}

TEST_CASE("the trace has flows and counters") {
  tool_result const r = run_tool("emit 1f1b -p 4 -m 8 --as trace");
  CHECK(count(r.out, "\"ph\":\"X\"") == 64);
  CHECK(count(r.out, "\"ph\":\"s\"") == 48);
  CHECK(count(r.out, "\"ph\":\"f\"") == 48);
  CHECK(count(r.out, "\"ph\":\"C\"") > 8);
}

TEST_CASE("options that mean nothing in a format are refused") {
  auto const refused = [](std::string const& line, std::string const& words) {
    CAPTURE(line);
    tool_result const r = run_tool("emit " + line);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK(contains(r.err, words));
  };
  refused("1f1b --as json --block", "--block has no effect with --as json: it is for svg");
  refused("1f1b --as html --transfers", "--transfers has no effect with --as html: it is for svg");
  refused("1f1b --as trace --memory", "--memory has no effect with --as trace: it is for svg");
  refused("1f1b --as pytorch --dark", "--dark has no effect with --as pytorch: it is for svg and html");
  refused("1f1b --as trace --light", "--light has no effect with --as trace: it is for svg and html");
  refused("1f1b --as svg --against gpipe", "--against has no effect with --as svg: it is for html");
  refused("1f1b --as svg --block --memory", "--memory has no effect with --block");
  refused("1f1b --as svg --dark --light", "excludes");
  refused("1f1b --as html --against 1f1", "did you mean '1f1b'");
  refused("1f1b -p 64 -m 1000 --as svg", "too large; the limit is 100000");
  refused("1f1b -p 16 -m 500 --as html --against zb-h1", "too large; the limit is 20000");
  refused("1f1b -p 64 -m 1000 --as html", "too large; the limit is 20000");
}
