#include <ashlar/catalog/entries.hpp>
// First, so that it needs nothing before it.
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

TEST_CASE("an entry makes a schedule under the shape's costs") {
  catalog::shape shape{.p = devices{4}, .m = micro_batches{8}};
  shape.cost = costs(stage_cost{2, 3, 4}, 1);
  for (catalog::entry const& e : catalog::entries) {
    CAPTURE(e.name);
    if (e.block_of != nullptr) {
      CHECK(e.block_of(shape).cost == costs{});  // in units of one pass
      CHECK(check(e.block_of(shape)).ok());
    }
    schedule const s = e.make(shape);
    CHECK(s.cost == shape.cost);
    CHECK(s.micro_batch_count() >= 8);
    CHECK((s.device_count() == 4 || s.device_count() == 1));
    CHECK(check(s).ok());
  }
}

TEST_CASE("every entry says where its stages are") {
  for (catalog_case const& c : catalog_cases({1, 2, 4, 8}, {4, 8, 32})) {
    CAPTURE(c);
    placement const where = c.schedule().where;
    if (c.entry->placed == placement_kind::given) {
      CHECK((where.route_count() > 1 || where.device_count() < c.shape.p.value
             || c.shape.p.value == 1));  // all at once, or on one device
      continue;
    }
    CHECK(where == lay_out(c.entry->placed, c.shape.p, where.stage_count() / where.device_count()));
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

TEST_CASE("one device, one micro-batch, a stage's own costs") {
  for (catalog_case const& c : catalog_cases({1, 16, 17}, {1, 9, 32})) {
    CAPTURE(c);
    CHECK(check(c.schedule()).ok());
  }
  for (catalog::entry const& e : catalog::entries) {
    int const count = e.make({devices{4}, micro_batches{8}}).where.stage_count();
    std::vector<stage_cost> each;
    for (tick s = 0; s < count; ++s) each.push_back({1 + s, 2 + s % 3, 3});
    CHECK(check(e.make({devices{4}, micro_batches{8}, costs(each, 2)})).ok());
  }
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
