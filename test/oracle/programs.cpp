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
