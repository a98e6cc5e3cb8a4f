#include <ashlar/search/host_ladder.hpp>
// The header above comes first: it needs nothing before it.
#include <ashlar/search/offload.hpp>

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

memory_model ladder_memory() {
  memory_model memory;
  memory.stages = {{.stash = 100}, {.stash = 0}, {.stash = 30}};
  return memory;
}

TEST_CASE(
    "a ladder of links begins where the given one is, and its copies take what they are named by") {
  host_link const host{.speed = {.latency = 2, .bandwidth = 20}, .shared_by = 2};
  host_ladder const ladder(ladder_memory(), 3, host);
  CHECK(ladder.given() == 10);
  CHECK(copy_times(ladder_memory(), 3, ladder.at(10)) == copy_times(ladder_memory(), 3, host));
  CHECK(copy_times(ladder_memory(), 3, ladder.at(12)) == std::vector<tick>{14, 2, 6});
  CHECK(copy_times(ladder_memory(), 3, ladder.at(0)) == std::vector<tick>{2, 2, 2});
  CHECK(ladder.where_smallest_takes(3) == 10);
}

TEST_CASE("the numbers of a ladder do not depend on where it begins") {
  host_ladder const ladder(ladder_memory(), 3, {.speed = {.bandwidth = 15}});
  CHECK(ladder.given() == 7);
  CHECK(ladder.rungs(24, 3) == std::vector<tick>{7, 8, 10, 12, 14, 16, 20, 24});
  CHECK(ladder.rungs(23, 1) == std::vector<tick>{8, 16});
  CHECK(ladder.rungs(6, 3).empty());
  host_ladder const fast(ladder_memory(), 3, {});
  CHECK(fast.rungs(5, 2) == std::vector<tick>{0, 1, 2, 3, 4});
  host_ladder const slow(ladder_memory(), 3, {.speed = {.bandwidth = 1, .period = max_tick / 2}});
  CHECK(slow.given() == host_ladder::slowest());
  CHECK(slow.rungs(host_ladder::slowest(), 5).size() == 1);
}

TEST_CASE("where nothing is kept all links are alike") {
  memory_model memory;
  memory.stages[0].stash = 0;
  host_ladder const ladder(memory, 1, {.speed = {.bandwidth = 1}});
  CHECK(ladder.rungs(max_tick / 8, 3) == std::vector<tick>{0});
  CHECK(ladder.where_smallest_takes(7) == 0);
}

}  // namespace
