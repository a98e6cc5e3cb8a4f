#include <ashlar/catalog/searched_entries.hpp>
// First, so that it needs nothing before it.
#include "violations.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <set>
#include <string>

using namespace ashlar;

namespace {

TEST_CASE("all entries, by names of their own") {
  std::set<std::string> names;
  for (catalog::entry const* e : catalog::all_entries) {
    CHECK(catalog::find_any(e->name) == e);
    CHECK(catalog::find(e->name) == (e->is_searched ? nullptr : e));
    names.insert(e->name);
    CHECK(!std::string(e->summary).empty());
    CHECK(!std::string(e->source).empty());
  }
  CHECK(names.size() == catalog::entries.size() + catalog::searched_entries.size());
  CHECK(catalog::find_any("zb-1") == nullptr);
}

TEST_CASE("what is searched is valid under its costs, and holds what its name says") {
  for (catalog::entry const& e : catalog::searched_entries) {
    CAPTURE(e.name);
    catalog::shape shape{.p = devices{4}, .m = micro_batches{8}};
    shape.cost = costs(stage_cost{2, 3, 4}, 1);
    schedule const s = e.make(shape);
    CHECK(check(s).ok());
    CHECK(s.cost == shape.cost);
    CHECK(peak_of_all(s) <= (e.name == std::string("zb-1p") ? 4 : 8));
    CHECK_BREAKS(parameter_is_at_least, e.make({devices{0}, micro_batches{4}}));
    CHECK_BREAKS(parameter_is_at_least, e.make({devices{2}, micro_batches{0}}));
  }
}

}  // namespace
