// Files that earlier versions have written are read: test/data/earlier has a folder for each, never
// changed.
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

std::string const earlier = std::string(ASHLAR_TEST_DATA) + "/earlier/";

void means(std::string const& file, std::string const& verdict) {
  tool_result const r = run_tool("check " + earlier + file);
  CAPTURE(r.err);
  CHECK(r.code == 0);
  CAPTURE(r.out);
  CHECK(contains(r.out, verdict));
}

}  // namespace

TEST_CASE("files of version 0.1 are read") {
  means("0.1/schedule.json", "valid: 2 devices, 4 stages, 4 micro-batches, 1 route, makespan 25,");
  means("0.1/passes.csv", "valid: 2 devices, 2 stages, 4 micro-batches, 1 route, makespan 13,");
  means("0.1/program.csv", "valid: 2 devices, 2 stages, 4 micro-batches, 52 tokens, dialect waits");
  tool_result const costs =
      run_tool("emit 1f1b -p 2 -m 4 --as json --costs " + earlier + "0.1/costs.json");
  CHECK(costs.code == 0);
  CHECK(contains(costs.out, "\"forward\":2853"));
  tool_result const on =
      run_tool("train --corpus " + earlier + "0.1/corpus.txt --schedule gpipe -p 2 -m 2 --blocks 2 --width 8 "
               "--heads 2 --context 16 --sequences 1 --steps 4 --resume " + earlier + "0.1/checkpoint");
  CAPTURE(on.err);
  CHECK(on.code == 0);
  CHECK(contains(on.out, "loss"));
}
