#include "violations.hpp"
#include <ashlar/model/in_flight.hpp>

using namespace ashlar;

namespace {

using units = std::vector<std::int64_t>;

TEST_CASE("what is in flight grows with the longest path to a sink") {
  stage_graph const g(stages{5}, {{0, 1}, {1, 2}, {2, 4}, {3, 4}});
  CHECK((depth(g) == 4 && depth(chain(stages{5})) == 5 && depth(stage_graph(stages{3}, {})) == 1));
  CHECK(heights(g) == std::vector<int>({4, 3, 2, 2, 1}));
  CHECK(in_flight(g) == units({4, 3, 2, 2, 1}));
  stage_graph const short_end(stages{4}, {{0, 1}, {1, 2}, {0, 3}});  // the longer branch is named first
  CHECK((depth(short_end) == 3 && heights(short_end) == std::vector<int>({3, 2, 1, 1})));
}

TEST_CASE("larger micro-batches and longer turns keep more in flight") {
  stage_graph const line = chain(stages{3});
  CHECK(in_flight(in_micro_batches(line, {1, 2, 4})) == units({10, 8, 4}));
  CHECK(in_flight(in_micro_batches(line, {4, 4, 4})) == units({12, 8, 4}));
  CHECK(in_flight(line, {4, 1, 2}) == units({8, 4, 2}));
  CHECK(in_flight(in_micro_batches(line, {1, 2, 2}), {2, 1, 1}) == units({6, 4, 2}));
}

TEST_CASE("turns are positive, one a stage") {
  CHECK_BREAKS(tables_agree, in_flight(chain(stages{3}), {1, 1}));
  CHECK_BREAKS(counts_are_positive, in_flight(chain(stages{2}), {1, 0}));
}

}  // namespace
