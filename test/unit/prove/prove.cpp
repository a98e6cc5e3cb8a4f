#include <ashlar/prove/prove.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "mutate.hpp"
#include "random_cases.hpp"
#include "shapes.hpp"
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <vector>

using namespace shapes;
using namespace mutate;

namespace {

TEST_CASE("tables of the right size") {
  program const good = one_f_one_b(2, 2) | lower();
  CHECK(check(good).ok());
  CHECK(check(program{}).broken == rule::counts_are_positive);
  program p = good;
  p.stream_begin.pop_back();
  CHECK(check(p).broken == rule::tables_agree);
  p = good;
  ++p.stream_begin.back();
  CHECK(check(p).broken == rule::tables_agree);
  p = good;
  std::swap(p.stream_begin[0], p.stream_begin[1]);
  CHECK(check(p).broken == rule::tables_agree);
  p = good;
  ++p.slot_begin.back();
  CHECK(check(p).broken == rule::tables_agree);
  p = good;
  p.route[0] = 1;
  CHECK((check(p).broken == rule::micro_batches_take_a_route && check(p).number == 1));
  p = good;
  p.graph = chain(stages{3});
  CHECK(check(p).broken == rule::tables_agree);
  p = good;
  p.groups = parameter_groups(placement(devices{2}, {{1, 0}}), {});
  CHECK(check(p).broken == rule::tables_agree);
}

TEST_CASE("indices within their tables") {
  program const good = one_f_one_b(2, 2) | lower();
  program p = good;
  at(p, 1, 0).lane = -1;
  CHECK((check(p).broken == rule::tables_agree && check(p).first.device == 1));
  at(p, 1, 0).lane = 99;
  CHECK(check(p).broken == rule::tables_agree);
  p = good;
  at(p, 1, 0).first_operand = -1;
  CHECK(check(p).broken == rule::tables_agree);
  p = good;
  at(p, 1, 0).operand_count = 1000;
  CHECK(check(p).broken == rule::tables_agree);
  p = good;
  operand_of(p, 1, 0, 0).slot = -1;
  CHECK(check(p).broken == rule::slot_holds_what_is_read);
  operand_of(p, 1, 0, 0).slot = 1000;
  CHECK((check(p).broken == rule::slot_holds_what_is_read && check(p).number == 1000));
  // No int holds their sum.
  constexpr int most = std::numeric_limits<int>::max();
  p = good;
  at(p, 1, 0).operand_count = most;
  CHECK(check(p).broken == rule::tables_agree);
  at(p, 1, 0).first_operand = most;
  CHECK(check(p).broken == rule::tables_agree);
  at(p, 1, 0).operand_count = 1;
  CHECK(check(p).broken == rule::tables_agree);
}

// An enumeration may hold any number of its type.
TEST_CASE("enumerators that there are") {
  program const good = one_f_one_b(2, 2) | lower();
  program p = good;
  at(p, 1, 0).code = static_cast<opcode>(12);
  CHECK((check(p).broken == rule::every_pass_is_known && check(p).first.device == 1));
  p = good;
  at(p, 1, length(p, 1) - 2).what.kind = static_cast<pass_kind>(6);
  CHECK(check(p).broken == rule::every_pass_is_known);
  p = good;
  operand_of(p, 1, 0, 0).how = static_cast<ashlar::access>(4);
  CHECK(check(p).broken == rule::slot_holds_what_is_read);
  p = good;
  p.slots.back() = static_cast<slot_kind>(slot_kinds);
  CHECK(check(p).broken == rule::tables_agree);
}

TEST_CASE("more messages or passes than an int counts") {
  for (int s : {50'000, 20'000}) {  // of 20,000 stages messages can be counted, what passes give cannot
    program p;
    p.graph = chain(stages{s});
    p.where = make_placement(devices{1}, stages{s}, [](int) { return 0; });
    p.groups = parameter_groups(p.where);
    p.route.assign(50'000, 0);
    p.stream_begin = p.slot_begin = {0, 0};
    diagnosis const d = check(p);
    CHECK(d.broken == rule::sizes_fit);
    CHECK(d.number == (s == 50'000 ? 2 * 49'999 : results * 20'000));
  }
}

TEST_CASE("a program without devices that names a route") {
  program p;
  p.route = {0};
  CHECK(check(p).broken == rule::counts_are_positive);
}

// Begins that are negative or beyond the end in the middle are refused before they are followed.
TEST_CASE("begins in the middle") {
  program p = one_f_one_b(3, 2) | lower();
  for (int wrong : {-5, 1000}) {
    program q = p;
    q.stream_begin[1] = wrong;
    CHECK(check(q).broken == rule::tables_agree);
    q = p;
    q.slot_begin[1] = wrong;
    CHECK(!check(q).ok());
    q = p;
    q.stream_begin[0] = wrong;
    CHECK(check(q).broken == rule::tables_agree);
    q = p;
    q.slot_begin[0] = wrong;
    CHECK(!check(q).ok());
  }
}

TEST_CASE("every level of every small program") {
  auto const ps = listed_cases(std::vector<int>{1, 2, 3, 4, 5, 6});
  auto const ms = listed_cases(std::vector<int>{1, 2, 3, 4, 5, 6, 7});
  for (catalog_case const& c : catalog_cases(ps, ms, costs(stage_cost{2, 1, 3}, 2)))
    for (transfer_lanes lanes : {transfer_lanes::one, transfer_lanes::one_a_peer,
                                 transfer_lanes::one_a_direction, transfer_lanes::one_a_kind}) {
      CAPTURE(c);
      CHECK(check(c.schedule() | lower({.lanes = lanes})).ok());
    }
}

}  // namespace
