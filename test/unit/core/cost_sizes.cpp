#include <ashlar/core/cost_sizes.hpp>
// First, so that it needs nothing before it.

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

TEST_CASE("costs are of one stage or of all, speeds of no device or of all") {
  costs c(std::vector<stage_cost>(4, stage_cost{}));
  c.speeds = {100, 40};
  CHECK((check_sizes(c, 4, 2, 1).ok() && check_sizes(costs{}, 7, 9, 1).ok()));
  CHECK(check_sizes(c, 3, 2, 1) == wrong_size(table::stage_costs, 4, 3));
  CHECK(check_sizes(c, 4, 3, 1) == wrong_size(table::device_speeds, 2, 3));
}

TEST_CASE("costs of chunks are of as many as a sequence has") {
  costs c(std::vector<stage_cost>(6, stage_cost{}));
  CHECK(check_sizes(c, 6, 1, 3).ok());  // chunks are alike
  c.sequence_chunks = 3;
  CHECK(check_sizes(c, 2, 1, 3).ok());
  CHECK(check_sizes(c, 2, 1, 1) == wrong_size(table::costs_of_chunks, 3, 1));
  CHECK(check_sizes(c, 2, 1, 6) == wrong_size(table::costs_of_chunks, 3, 6));
  CHECK(check_sizes(c, 3, 1, 3) == wrong_size(table::stage_chunk_costs, 6, 9));
  CHECK(check_sizes(c, 6, 1, 3) == wrong_size(table::stage_chunk_costs, 6, 18));
  c.per_stage.resize(3);
  CHECK(check_sizes(c, 4, 1, 3).ok());  // stages are alike
  c.per_stage.resize(1);
  CHECK(check_sizes(c, 1, 1, 3) == wrong_size(table::stage_chunk_costs, 1, 3));
  c.sequence_chunks = 0;
  CHECK(check_sizes(c, 1, 1, 1) == wrong_size(table::costs_of_chunks, 0, 1));
}

}  // namespace
