#include <ashlar/catalog/entries.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/check/check.hpp>

#include <set>
#include <string>
#include <string_view>

using namespace shapes;

namespace {

TEST_CASE("entries by name") {
  for (catalog::entry const& e : catalog::entries) CHECK(catalog::find(e.name) == &e);
  CHECK((catalog::find("") == nullptr && catalog::find("1F1B") == nullptr));
  CHECK((catalog::find("gpip") == nullptr && catalog::find("gpipe ") == nullptr));
  std::string_view const longer = "gpipe and more";
  CHECK(catalog::find(longer.substr(0, 5)) == catalog::find("gpipe"));
  CHECK((catalog::find(longer.substr(0, 4)) == nullptr && catalog::find(longer) == nullptr));
}

// One loop over all entries, at every size that has a case of its own: one device or micro-batch, fewer
// micro-batches than devices, numbers that do not divide each other; costs differ by stage.
TEST_CASE("every entry makes a valid schedule under the shape's costs, and says where its stages are") {
  for (catalog_case const& c : catalog_cases({1, 2, 4, 8, 16, 17}, {1, 4, 8, 9, 32})) {
    CAPTURE(c);
    schedule const plain = c.schedule();
    CHECK(check(plain).ok());
    placement const& where = plain.where;
    if (c.entry->placed == placement_kind::given)  // all at once, or on one device
      CHECK((where.route_count() > 1 || where.device_count() < c.shape.p.value || c.shape.p.value == 1));
    else
      CHECK(where == lay_out(c.entry->placed, c.shape.p, where.stage_count() / where.device_count()));
    CHECK((where.device_count() == c.shape.p.value || where.device_count() == 1));
    CHECK(plain.micro_batch_count() >= c.shape.m.value);
    if (c.has_block()) {
      CHECK(c.block().cost == costs{});  // in units of one pass
      CHECK(check(c.block()).ok());
    }
    catalog::shape own = c.shape;
    std::vector<stage_cost> each;
    for (tick s = 0; s < where.stage_count(); ++s) each.push_back({1 + s, 2 + s % 3, 3});
    own.cost = costs(each, 2);
    schedule const uneven = c.entry->make(own);
    CHECK((uneven.cost == own.cost && uneven.where == where));
    CHECK(check(uneven).ok());
  }
}

TEST_CASE("every entry says what it is and whose") {
  std::set<std::string> names;
  for (catalog::entry const& e : catalog::entries) {
    names.insert(e.name);
    CHECK(!std::string(e.summary).empty());
    CHECK(!std::string(e.source).empty());
  }
  CHECK(names.size() == catalog::entries.size());
}

TEST_CASE("shapes that cannot be") {
  for (catalog::entry const& e : catalog::entries) {
    CHECK_BREAKS(parameter_is_at_least, e.make({devices{0}, micro_batches{4}}));
    CHECK_BREAKS(parameter_is_at_least, e.make({devices{-2}, micro_batches{4}}));
    CHECK_BREAKS(parameter_is_at_least, e.make({devices{2}, micro_batches{0}}));
    CHECK_BREAKS(parameter_is_at_least, e.make({devices{2}, micro_batches{-1}}));
    CHECK_BREAKS(tables_agree,
                 e.make({devices{4}, micro_batches{8}, costs(std::vector<stage_cost>(3))}));
  }
}

}  // namespace
