#include <ashlar/search/active_schedules.hpp>
// The header above comes first: it needs nothing before it.
#include <doctest/doctest.h>

#include <vector>

using namespace ashlar;
using request_search_detail::active_schedules;

namespace {

// Two passes on device 0, and one on device 1 that feeds device 0.
TEST_CASE("a device waits for a pass of less priority number only if none could end before it starts") {
  active_schedules active({active_schedules::job{0, 5, 0}, active_schedules::job{1, 3, 0},
                           active_schedules::job{0, 2, 0, {active_schedules::input{1, 1}}}},
                          2);
  std::vector<tick> start;
  active.run({1, 0, 0}, true, start);
  CHECK(start == std::vector<tick>{6, 0, 4});
  active.run({0, 0, 1}, true, start);
  CHECK(start == std::vector<tick>{0, 0, 5});
  active.run({1, 0, 0}, false, start);
  CHECK(start == std::vector<tick>{0, 0, 5});
  // It could end before the other starts: an active schedule does not leave it out.
  active_schedules shorter({active_schedules::job{0, 4, 0}, active_schedules::job{1, 3, 0},
                            active_schedules::job{0, 2, 0, {active_schedules::input{1, 1}}}},
                           2);
  shorter.run({1, 0, 0}, true, start);
  CHECK(start == std::vector<tick>{0, 0, 4});
}

TEST_CASE("arrivals, delays, two inputs, and passes that take no time") {
  active_schedules active(
      {active_schedules::job{0, 2, 3}, active_schedules::job{0, 0, 9},
       active_schedules::job{1, 1, 0, {active_schedules::input{0, 2}, active_schedules::input{1, 0}}}},
      2);
  std::vector<tick> start;
  active.run({0, 0, 0}, true, start);
  CHECK(start == std::vector<tick>{3, 9, 9});
}

}  // namespace
