#include <ashlar/lower/host_copies.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/program/hash.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/prove/same_sums.hpp>

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using namespace shapes;

namespace {

pass forward(int stage, int micro_batch) { return {pass_kind::forward, stage, micro_batch}; }

dynamic_array<absence> placed(std::initializer_list<absence> all) {
  dynamic_array<absence> list;
  for (absence const& a : all) list.push_back(a);
  place_copies(list);
  return list;
}

rule broken_by(schedule const& s, offload_options const& o) { return check(o, s).broken; }

// An eager pipeline of four devices, where the first holds much for long.
schedule eager() { return catalog::find("gpipe")->make({devices{4}, micro_batches{4}}); }

TEST_CASE("copies leave as soon and come back as late as their lanes let them") {
  auto const two = placed({{.forward = forward(0, 0), .made = 1, .needed = 20, .copy = 3},
                           {.forward = forward(0, 1), .made = 2, .needed = 21, .copy = 3}});
  CHECK((two[0].out == 1 && two[1].out == 4));  // one after the other
  CHECK((two[0].in == 15 && two[1].in == 18));  // the second just in time, the first before it
  CHECK((two[0].is_in_time() && two[1].is_in_time()));
}

TEST_CASE("a value that is needed before it could be away and back is late, and so is what it delays") {
  auto const late = placed({{.forward = forward(0, 0), .made = 1, .needed = 5, .copy = 3},
                            {.forward = forward(0, 1), .made = 2, .needed = 9, .copy = 3}});
  CHECK((late[0].in == 4 && late[0].back() == 7 && !late[0].is_in_time()));
  CHECK((late[1].out == 4 && late[1].in == 7 && late[1].back() == 10 && !late[1].is_in_time()));
}

TEST_CASE("copies back do not overlap, also behind one that is late") {
  auto const late = placed({{.forward = forward(0, 0), .made = 0, .needed = 20, .copy = 1},
                            {.forward = forward(0, 1), .made = 1, .needed = 5, .copy = 10}});
  CHECK((late[0].forward == forward(0, 1) && late[0].in == 11 && late[0].back() == 21));
  CHECK((late[1].in == 21 && late[1].back() == 22));  // alone it would come back from 19 on
}

TEST_CASE("copies that start with a pass start with it at other times, too") {
  schedule const now = retime(catalog::find("gpipe")->make({devices{1}, micro_batches{2}}),
                              costs(stage_cost{1, 1, 1})),
                 later = retime(now, costs(stage_cost{10, 1, 1}));
  pass_ends ends = no_ends(now), later_ends = no_ends(later);
  REQUIRE((check_passes(now, ends).ok() && check_passes(later, later_ends).ok()));
  host_copies copies(now, ends, {.forwards = {forward(0, 0)}});
  copies.move_to(now, later, later_ends);
  dynamic_array<host_copy> const moved = copies.of(0);
  REQUIRE(moved.size() == 2);
  CHECK((moved[0].code == opcode::offload && moved[0].start == 10 && moved[0].end == 10));
  CHECK((moved[1].code == opcode::reload && moved[1].start == 20));
}

TEST_CASE("what cannot leave is refused") {
  schedule const s = eager();
  CHECK(broken_by(s, {.forwards = {forward(0, 0), forward(3, 3)}, .copy = {2}}) == rule::none);
  CHECK(broken_by(s, {.forwards = {forward(4, 0)}}) == rule::every_pass_is_known);
  CHECK(broken_by(s, {.forwards = {{pass_kind::backward, 0, 0}}}) == rule::every_pass_is_known);
  CHECK(broken_by(s, {.forwards = {forward(0, 0), forward(1, 0), forward(0, 0)}})
        == rule::no_pass_is_doubled);
  CHECK(broken_by(s, {.forwards = {forward(0, 0)}, .copy = {1, 1}}) == rule::tables_agree);
  CHECK(broken_by(s, {.forwards = {forward(0, 0)}, .copy = {-1}}) == rule::no_duration_is_negative);
  CHECK(broken_by(s, {.forwards = {forward(0, 0)}, .copy = {max_tick / 2}}) == rule::ticks_fit);
  tick const longest = max_tick / 8;  // there and back, and as long again for what else there is
  CHECK(broken_by(s, {.forwards = {forward(0, 0)}, .copy = {longest}}) == rule::ticks_fit);
  CHECK(broken_by(s, {.forwards = {forward(0, 0)}, .copy = {longest - 1}}) == rule::none);
  schedule const forward_only = catalog::find("inference")->make({devices{2}, micro_batches{2}});
  CHECK(broken_by(forward_only, {.forwards = {forward(0, 0)}}) == rule::inference_goes_forward_only);
  CHECK_THROWS_AS(static_cast<void>(lower(s, {.offload = {.forwards = {forward(4, 0)}}})), violation);
  schedule read = s;
  read.work = work_graph({{.parts = {{0, 1}}, .does = compute_job{}}},
                         {{forward(0, 0), {pass_kind::work, 0, 0}}});
  CHECK(broken_by(read, {.forwards = {forward(0, 0)}}) == rule::what_leaves_comes_back);
  CHECK(broken_by(read, {.forwards = {forward(0, 1)}}) == rule::none);
}

TEST_CASE("a copy may end after the last pass starts, also where some take no time") {
  schedule const s =
      retime(catalog::find("1f1b")->make({devices{1}, micro_batches{1}}), costs(stage_cost{0, 1, 1}));
  program const p = lower(s, {.offload = {.forwards = {forward(0, 0)}, .copy = {100}}});
  CHECK(check(p).ok());
}

TEST_CASE("what leaves makes room on the device, and takes a slot on the host") {
  schedule const s = eager();
  program const stays = lower(s);
  CHECK(count_slots(stays.view(), 0, slot_kind::stash) == 4);
  // Each leaves while the next but one is made, and comes back while the one before is used.
  program const goes = lower(s, {.offload = {.forwards = {forward(0, 1), forward(0, 2)}, .copy = {1}}});
  CHECK(check(goes).ok());
  CHECK(count_slots(goes.view(), 0, slot_kind::stash) == 3);
  CHECK(count_slots(goes.view(), 0, slot_kind::host_stash) == 2);
  CHECK(count_slots(goes.view(), 1, slot_kind::host_stash) == 0);
  CHECK(goes.instructions.size() == stays.instructions.size() + 4);
  CHECK((goes.lane_count() == stays.lane_count() + 2 && goes.offload_lane() == stays.lane_count()));
  CHECK(check_same_sums(stays.view(), goes.view()).ok());
}

TEST_CASE("a program from which nothing leaves is as it was") {
  schedule const s = eager();
  program const p = lower(s);
  CHECK((!p.offloads && p.lane_count() == p.collective_lane() + 1));
  CHECK(hash(p.view()) == 17746687745193257215U);
}

TEST_CASE("a checkpoint leaves, the stash of a recompute stays") {
  schedule const s = catalog::find("1f1b-recompute")->make({devices{2}, micro_batches{3}});
  program const p = lower(s, {.offload = {.forwards = {forward(0, 0)}}});
  CHECK(check(p).ok());
  CHECK(count_slots(p.view(), 0, slot_kind::host_checkpoint) == 1);
  CHECK(count_slots(p.view(), 0, slot_kind::host_stash) == 0);
}

TEST_CASE("copies of all stages take one time, of each its own, or none") {
  CHECK(offload_options{}.copy_of(3) == 0);
  CHECK(offload_options{.copy = {7}}.copy_of(3) == 7);
  CHECK(offload_options{.copy = {7, 8, 9}}.copy_of(1) == 8);
}

TEST_CASE("copies are empty where nothing leaves, and only there") {
  schedule const s = eager();
  pass_ends ends = no_ends(s);
  REQUIRE(check_passes(s, ends).ok());
  CHECK(host_copies(s, ends, {}).empty());
  CHECK(!host_copies(s, ends, {.forwards = {forward(0, 0)}}).empty());
}

TEST_CASE("copies are in time if each is back before its value is read") {
  schedule const s = eager();
  pass_ends ends = no_ends(s);
  REQUIRE(check_passes(s, ends).ok());
  auto const with = [&](std::vector<tick> copy) {
    return host_copies(s, ends, {.forwards = {forward(0, 1), forward(0, 2)}, .copy = std::move(copy)});
  };
  CHECK((with({1}).are_in_time() && with({}).are_in_time() && host_copies().are_in_time()));
  CHECK_FALSE(with({100}).are_in_time());
}

}  // namespace
