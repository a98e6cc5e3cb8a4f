#include <ashlar/catalog/searched_entries.hpp>
// The header above comes first: it needs nothing before it.
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

TEST_CASE("names of other programs find the entry that they mean") {
  auto const meant = [](char const* name) {
    catalog::entry const* const e = catalog::find_any(name);
    return std::string(e == nullptr ? "" : e->name);
  };
  for (char const* name :
       {"interleaved", "interleaved-1f1b", "Interleaved1F1B", "vpp", "ScheduleInterleaved1F1B"})
    CHECK(meant(name) == "depth-first");
  for (char const* name : {"1F1B", "Schedule1F1B", "PipeDream_Flush"}) CHECK(meant(name) == "1f1b");
  for (char const* name : {"ZBH1", "zb", "Zero Bubble"}) CHECK(meant(name) == "zb-h1");
  for (char const* name : {"looped", "BreadthFirst"}) CHECK(meant(name) == "breadth-first");
  for (char const* name : {"LoopedBFS", "looped_bfs", "ScheduleLoopedBFS"})
    CHECK(meant(name) == "looped-bfs");
  CHECK(meant("ScheduleZBVZeroBubble") == "zbv");
  CHECK(meant("DualPipeV") == "dualpipev");
  CHECK(meant("vocab_1") == "vocab-1");
  for (char const* name : {"", "-", "schedule", "Schedule-", "1f1", "zbh"}) CHECK(meant(name).empty());
}

TEST_CASE("no other name is another's, and each means an entry") {
  for (catalog::other_name const& each : catalog::other_names) {
    CAPTURE(each.name);
    CHECK(catalog::find_any(each.name) == catalog::find_any(each.entry));
    CHECK(std::string(catalog::find_any(each.entry)->name) == each.entry);
    int same = 0;
    for (catalog::other_name const& other : catalog::other_names)
      same += catalog::is_same_name(catalog::characters(each.name), catalog::characters(other.name));
    for (catalog::entry const* e : catalog::all_entries)
      same += catalog::is_same_name(catalog::characters(each.name), catalog::characters(e->name));
    CHECK(same == 1);
  }
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
