#include <ashlar/core/cost_sizes.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

#include <vector>

using namespace ashlar;

namespace {

TEST_CASE("costs are of one stage or of all, speeds of no device or of all") {
  costs c(std::vector<stage_cost>(4, stage_cost{}));
  c.on.speeds = {100, 40};
  CHECK((check_sizes(c, 4, 2, 5, 1).ok() && check_sizes(costs{}, 7, 9, 5, 1).ok()));
  CHECK(check_sizes(c, 3, 2, 5, 1) == wrong_size(table::stage_costs, 4, 3));
  CHECK(check_sizes(c, 4, 3, 5, 1) == wrong_size(table::device_speeds, 2, 3));
}

TEST_CASE("costs of chunks are of as many as a sequence has") {
  std::vector<stage_cost> const six(6, stage_cost{});
  CHECK(check_sizes(costs(six), 6, 1, 3, 3).ok());  // chunks are alike
  costs c(pass_costs::by_stage_and_sequence_chunk(six, 3));
  CHECK(check_sizes(c, 2, 1, 3, 3).ok());
  CHECK(check_sizes(c, 2, 1, 3, 1) == wrong_size(table::sequence_chunk_costs, 3, 1));
  CHECK(check_sizes(c, 2, 1, 6, 6) == wrong_size(table::sequence_chunk_costs, 3, 6));
  CHECK(check_sizes(c, 3, 1, 3, 3) == wrong_size(table::sequence_chunk_costs_of_stages, 6, 9));
  CHECK(check_sizes(c, 6, 1, 3, 3) == wrong_size(table::sequence_chunk_costs_of_stages, 6, 18));
  c.passes = pass_costs::by_stage_and_sequence_chunk(std::vector<stage_cost>(3, stage_cost{}), 3);
  CHECK(check_sizes(c, 4, 1, 3, 3).ok());  // stages are alike
}

TEST_CASE("costs of micro-batches are of all of them") {
  costs const c(pass_costs::by_stage_and_micro_batch(std::vector<stage_cost>(6, stage_cost{}), 3));
  CHECK((check_sizes(c, 2, 1, 3, 1).ok() && check_sizes(c, 2, 1, 3, 3).ok()));
  CHECK(check_sizes(c, 2, 1, 4, 1) == wrong_size(table::micro_batch_costs, 3, 4));
  CHECK(check_sizes(c, 2, 1, 6, 3) == wrong_size(table::micro_batch_costs, 3, 6));
  CHECK(check_sizes(c, 3, 1, 3, 1) == wrong_size(table::stage_costs, 2, 3));
  costs const one(pass_costs::by_stage_and_micro_batch({{}}, 1));
  CHECK((check_sizes(one, 5, 1, 1, 1).ok() && !check_sizes(one, 5, 1, 2, 1).ok()));
}

TEST_CASE("costs of pairs are of one stage or of all") {
  costs c;
  c.passes.overlapped = pair_costs::by_stage(std::vector<tick>(27, 2), 3);
  CHECK(check_sizes(c, 3, 1, 1, 1).ok());
  CHECK(check_sizes(c, 2, 1, 1, 1) == wrong_size(table::pair_costs, 27, 12));
  c.passes.overlapped = pair_costs::by_stage({2, 2, 2}, 1);
  CHECK(check_sizes(c, 2, 1, 1, 1).ok());
}

}  // namespace
