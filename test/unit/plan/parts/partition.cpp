#include <ashlar/plan/parts/partition.hpp>
// The header above comes first: it needs nothing before it.

#include "violations.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

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

TEST_CASE("partitions: costs that are no numbers, and counts without end, are refused") {
  constexpr int huge = std::numeric_limits<int>::max();
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (double const wrong : {-1.0, inf, -inf, std::nan(""), 1e300}) {
    CAPTURE(wrong);
    for (int which = 0; which < 4; ++which) {
      cut_costs c = dear_in_the_middle(2);
      (which == 0 ? c.layer[1] : which == 1 ? c.volume[2] : which == 2 ? c.link[0] : c.repeats) = wrong;
      CHECK_BREAKS(figures_are_in_range, best_partition(c, 2));
      CHECK_BREAKS(figures_are_in_range, pipeline_time(c, {2, 2}));
    }
  }
  cut_costs short_of = dear_in_the_middle(2);
  short_of.link.clear();
  CHECK_BREAKS(tables_agree, best_partition(short_of, 2));
  CHECK_BREAKS(tables_agree, pipeline_time(short_of, {2, 2}));
  short_of = dear_in_the_middle(2);
  short_of.volume.resize(2);
  CHECK_BREAKS(tables_agree, best_partition(short_of, 2));
  CHECK_BREAKS(tables_agree, pipeline_time(dear_in_the_middle(2), {2, 3}));
  CHECK_BREAKS(counts_are_positive, pipeline_time(dear_in_the_middle(2), {0, 4}));
  CHECK_BREAKS(counts_are_positive, pipeline_time(dear_in_the_middle(2), {huge, huge, -huge}));
  CHECK_BREAKS(parameter_is_at_most, best_partition({std::vector<double>(6'000, 1), {}, {}}, 5'000));
  CHECK_BREAKS(parameter_is_at_most, uniform_partition(huge, huge));
  CHECK_BREAKS(sizes_fit, uniform_partition(7, 3, -huge, 0));
  CHECK_BREAKS(parameter_is_at_least, uniform_partition(-huge, 3, huge, huge));
}
