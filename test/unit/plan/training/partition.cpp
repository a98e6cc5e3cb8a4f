#include <ashlar/plan/training/partition.hpp>
// First, so that it needs nothing before it.

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

// Halves are 4 and 4, but the cut between them is dear.
cut_costs dear_in_the_middle(double repeats) {
  return {.layer = {3, 1, 1, 3}, .volume = {1, 9, 1, 1}, .link = {1.0}, .repeats = repeats};
}

TEST_CASE("partitions: time and the best cut") {
  CHECK(pipeline_time(dear_in_the_middle(10), {2, 2}) == 10 * 4 + 9 + 8);
  CHECK(pipeline_time(dear_in_the_middle(10), {1, 3}) == 10 * 5 + 1 + 8);
  // Many micro-batches pay for the dear cut, few do not.
  CHECK(best_partition(dear_in_the_middle(10), 2) == std::vector<int>{2, 2});
  CHECK(pipeline_time(dear_in_the_middle(7), best_partition(dear_in_the_middle(7), 2)) == 7 * 5 + 1 + 8);
  CHECK(best_partition(dear_in_the_middle(1), 1) == std::vector<int>{4});

  CHECK(uniform_partition(30, 8, 2, 4) == std::vector<int>{5, 3, 3, 3, 3, 3, 3, 7});
  CHECK(uniform_partition(7, 3) == std::vector<int>{3, 2, 2});
}

}  // namespace

TEST_CASE("partitions: the best weighs the longest stage against the cuts") {
  CHECK_THROWS_AS(best_partition(dear_in_the_middle(1), 5), violation);
  CHECK_THROWS_AS(best_partition(dear_in_the_middle(1), 0), violation);
  CHECK_THROWS_AS(uniform_partition(6, 4, 2, 1), violation);
}
