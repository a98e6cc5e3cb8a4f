#include <ashlar/core/refuse.hpp>
// The header above comes first: it needs nothing before it.
#include <doctest/doctest.h>

using namespace ashlar;

TEST_CASE("what is refused is thrown as it was found") {
  for (diagnosis const& d : {diagnosis{.broken = rule::passes_do_not_collide, .first = {.device = 3}},
                             wrong_size(table::device_budgets, 3, 4)}) {
    diagnosis thrown;
    try {
      refuse(d);
    } catch (violation const& e) {
      thrown = e.why;
    }
    CHECK(thrown == d);
  }
}
