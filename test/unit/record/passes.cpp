// Passes of a schedule that recorded transfers belong to.
#include <ashlar/record/passes.hpp>
// The header above comes first: it needs nothing before it.
#include <ashlar/catalog/one_f_one_b.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace ashlar;

namespace {

rank_record recorded(int rank, std::vector<std::string> const& kinds,
                     std::string const& dtype = "Float") {
  rank_record to{.rank = rank, .groups = {{.name = "0", .description = "all", .ranks = {0, 1}}}};
  for (std::string const& kind : kinds)
    to.operations.push_back({.id = static_cast<long long>(to.operations.size()),
                             .backend = "nccl",
                             .kind = kind,
                             .peer = 1 - rank,
                             .is_transfer = true,
                             .sequence = static_cast<long long>(to.operations.size()),
                             .inputs = {{{4}}, {dtype}}});
  return to;
}

program one_f_one_b_of_two() {
  return lower(catalog::one_f_one_b(devices{2}) | repeat(micro_batches{2}) | squeeze());
}

}  // namespace

TEST_CASE("transfers between two ranks are counted through the steps") {
  std::vector<rank_record> const ranks{recorded(0, {"send", "send", "recv", "recv", "send"}),
                                       recorded(1, {"recv", "recv", "send", "send", "recv"})};
  recorded_passes const found = passes_of(matched(ranks), one_f_one_b_of_two());
  CHECK(found.unknown.empty());
  REQUIRE(found.of.size() == 2);
  CHECK(found.of[0][1] == recorded_pass{{pass_kind::forward, 0, 1}, 0});
  CHECK(found.of[0][4] == recorded_pass{{pass_kind::forward, 0, 0}, 1});
  REQUIRE(found.of[1][2]);
  CHECK(found.of[1][2]->made.stage == 1);
  CHECK(found.of[1][2]->made.micro_batch == 0);
  CHECK(found.of[0][2] == found.of[1][2]);
}

TEST_CASE("shapes and objects are no values of passes") {
  std::vector<rank_record> const ranks{recorded(0, {"send"}, "Long"), recorded(1, {"recv"}, "Byte")};
  recorded_passes const found = passes_of(matched(ranks), one_f_one_b_of_two());
  CHECK(found.unknown.empty());
  CHECK_FALSE(found.of[0][0]);
}

TEST_CASE("passes are not known where the schedule does not fit, or the record is not whole") {
  std::vector<rank_record> ranks{recorded(0, {"send"}), recorded(1, {"recv"})};
  program const four = lower(catalog::one_f_one_b(devices{4}) | repeat(micro_batches{4}) | squeeze());
  CHECK(passes_of(matched(ranks), four).unknown
        == "a group that sends values has 2 ranks, and the schedule 4");
  ranks[1].is_whole = false;
  recorded_passes const found = passes_of(matched(ranks), one_f_one_b_of_two());
  CHECK(found.unknown == "the record of rank 1 has lost operations");
  CHECK(found.of.empty());
}
