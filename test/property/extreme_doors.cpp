// Whatever values it is given, a public function answers, or says which rule they break. The sanitizers
// are the judges here, and what an answer has to keep.
#include "doors.hpp"
#include "random_cases.hpp"

#include <doctest/doctest.h>

namespace {

void all_of(int count, void (*door)(random_case::dice&)) {
  FOR_SEEDS(static_cast<std::uint64_t>(long_cases(count))) {
    CAPTURE(seed);
    CHECK_NOTHROW(door(d));
  }
}

TEST_CASE("transforms of schedules with anything in them") { all_of(20'000, doors::of_schedules); }
TEST_CASE("transforms of blocks with anything in them") { all_of(20'000, doors::of_blocks); }
TEST_CASE("pictures of anything") { all_of(8'000, doors::of_pictures); }
TEST_CASE("searches for anything") { all_of(8'000, doors::of_searches); }
TEST_CASE("plans, choices and cuts of anything") { all_of(8'000, doors::of_plans); }

}  // namespace
