// Lowered programs: right in every interleaving, and proven right.
#include "oracle/agreement.hpp"

#include <doctest/doctest.h>

using namespace oracle;

TEST_CASE("what lower makes ends well in every order of events") {
  for (sample const& s : samples(4, 4).take()) {
    opinions const o = ask(s.made);
    INFO(s.name << '\n' << written_out(o));
    CHECK(o.oracle.good);
    CHECK(o.proof.ok());
    CHECK(ashlar::find_wait_cycle(s.made).empty());
  }
}

TEST_CASE("what ranks share ends well in every order of events, on one rank and on both") {
  for (sample const& s : shared()) {
    opinions const o = ask(s.made);
    INFO(s.name << '\n' << written_out(o));
    CHECK(o.oracle.good);
    CHECK(o.proof.ok());
    verdict const both = machine(s.made, 2).explore();
    INFO(both.why);
    CHECK(both.good);
    CHECK(both.states > o.oracle.states);
  }
}
