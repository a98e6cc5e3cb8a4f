// A public function answers any values, or says which rule they break. The sanitizers are the judges
// here, and properties that an answer has to keep.
#include "doors/blocks.hpp"
#include "doors/bounds.hpp"
#include "doors/catalogs.hpp"
#include "doors/fills.hpp"
#include "doors/graph_plans.hpp"
#include "doors/layouts.hpp"
#include "doors/measures.hpp"
#include "doors/micro_batches.hpp"
#include "doors/offloads.hpp"
#include "doors/pictures.hpp"
#include "doors/plans.hpp"
#include "doors/predictions.hpp"
#include "doors/programs.hpp"
#include "doors/schedules.hpp"
#include "doors/searches.hpp"
#include "doors/servings.hpp"
#include "doors/studies.hpp"
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
TEST_CASE("measures of schedules, blocks and cuts with anything in them") {
  all_of(8'000, doors::of_measures);
}
TEST_CASE("bounds of anything, and their arguments") { all_of(4'000, doors::of_bounds); }
TEST_CASE("published schedules of any shape") { all_of(8'000, doors::of_catalogs); }
TEST_CASE("pictures of anything") { all_of(8'000, doors::of_pictures); }
TEST_CASE("searches for anything") { all_of(8'000, doors::of_searches); }
TEST_CASE("copies to hosts of anything") { all_of(4'000, doors::of_offloads); }
TEST_CASE("micro-batches of anything, in any order") { all_of(8'000, doors::of_micro_batches); }
TEST_CASE("plans, choices and cuts of anything") { all_of(8'000, doors::of_plans); }
TEST_CASE("layouts of anything") { all_of(1'000, doors::of_layouts); }
TEST_CASE("plans for graphs of anything") { all_of(4'000, doors::of_graph_plans); }
TEST_CASE("plans for serving anything") { all_of(8'000, doors::of_servings); }
TEST_CASE("work in the gaps of anything") { all_of(4'000, doors::of_fills); }
TEST_CASE("programs, proofs and simulations of anything") { all_of(4'000, doors::of_programs); }
TEST_CASE("studies of anything") { all_of(4'000, doors::of_studies); }
TEST_CASE("predictions of anything") { all_of(8'000, doors::of_predictions); }

}  // namespace
