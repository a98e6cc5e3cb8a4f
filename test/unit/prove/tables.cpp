#include <ashlar/prove/tables.hpp>
// The header above comes first: it needs nothing before it.
#include "mutate.hpp"
#include "shapes.hpp"
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/progress.hpp>
#include <ashlar/prove/same_sums.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <vector>

using namespace shapes;
using namespace mutate;

namespace {

constexpr int largest_int = std::numeric_limits<int>::max();

// Device 0 does clear, F, send, receive, B, all-reduce; device 1 does clear, receive, F, B, send,
// all-reduce.
constexpr program of_two() { return one_f_one_b(2, 1) | lower(); }

TEST_CASE("every index of a view stays inside") {
  CHECK(check_tables(of_two().view()).ok());
  program p = of_two();
  diagnosis d;
  for (int stage : {2, -1}) {
    at(p, 0, 1).what.stage = stage;
    d = check_tables(p.view());
    CHECK((d.broken == rule::every_pass_is_known && d.first.device == 0 && d.first.index == 1));
  }
  for (int lane : {-1, p.view().lane_count, largest_int}) {
    p = of_two();
    at(p, 1, 2).lane = lane;
    d = check_tables(p.view());
    CHECK((d.broken == rule::tables_agree && d.first.device == 1 && d.first.index == 2));
  }
  p = of_two();
  operand_of(p, 1, 3, 0).slot = 77;
  d = check_tables(p.view());
  CHECK((d.broken == rule::slot_holds_what_is_read && d.first.device == 1 && d.first.index == 3));
  CHECK(d.number == 77);
}

// Job 0 keeps a state on both devices, job 1 on device 0 alone.
TEST_CASE("a state is cleared where the job has parts") {
  schedule s = one_f_one_b(2, 1);
  for (time_slot const& more : {time_slot({X, 0, 0}, 0), time_slot({X, 1, 0}, 0)})
    s.order[0].push_back(more);
  s.order[1].push_back({{X, 0, 1}, 0});
  compute_job const keeps{.state = own_state{true}};
  s.work =
      work_graph({{.parts = {{0, 1}, {1, 1}}, .does = keeps}, {.parts = {{0, 1}}, .does = keeps}}, {});
  program const good = squeeze(s) | lower();
  CHECK(check_tables(good.view()).ok());
  program p = good;
  int of_job_1 = -1, on_1 = -1;
  for (int i = 0; i < length(p, 0); ++i)
    if (at(p, 0, i).code == opcode::clear && at(p, 0, i).what == part_id{1, 0}) of_job_1 = i;
  for (int i = 0; i < length(p, 1); ++i)
    if (at(p, 1, i).code == opcode::clear && at(p, 1, i).subject == slot_kind::work_state) on_1 = i;
  REQUIRE((of_job_1 >= 0 && on_1 >= 0));
  at(p, 1, on_1).what = at(p, 0, of_job_1).what;
  at(p, 1, on_1).group = at(p, 0, of_job_1).group;
  diagnosis const d = check_tables(p.view());
  CHECK((d.broken == rule::group_is_held_where_it_is_named && d.first.device == 1));
  CHECK(d.first.index == on_1);
}

TEST_CASE("begins ascend from 0 to the end") {
  int const wrong[][3] = {{1, 6, 12}, {0, 13, 12}, {0, -1, 12}, {0, 6, 11}, {0, largest_int, 12}};
  for (auto const& begin : wrong) {
    program p = of_two();
    p.stream_begin = {begin[0], begin[1], begin[2]};
    CHECK(check_tables(p.view()).broken == rule::tables_agree);
    p = of_two();
    p.slot_begin[1] = begin[1] == 6 ? -1 : begin[1];
    CHECK(check_tables(p.view()).broken == rule::tables_agree);
  }
  program p = of_two();
  p.stream_begin = {0, 12};
  CHECK(check_tables(p.view()).broken == rule::tables_agree);
  p = of_two();
  p.groups = parameter_groups(linear(devices{1}));
  CHECK(check_tables(p.view()).broken == rule::tables_agree);
}

// The forward of device 1 runs overlapped with a backward whose operands are nowhere.
TEST_CASE("operands of an overlapped pair are known before they are compared") {
  program p = of_two();
  at(p, 1, 2).overlaps_next = true;
  CHECK(check_tables(p.view()).broken == rule::overlapped_passes_are_a_pair);  // B reads what F makes
  at(p, 1, 3).first_operand = 1'000'000;
  diagnosis const d = check_tables(p.view());
  CHECK((d.broken == rule::tables_agree && d.first.device == 1 && d.first.index == 3));
}

// Functions that take views check the same before they read them; a peer that is nobody is waited for.
TEST_CASE("views are checked before they are read") {
  program const good = of_two();
  std::vector<int> const order = issue_order(good.view());
  program p = good;
  at(p, 0, 1).operand_count = largest_int;
  diagnosis const broken = check_tables(p.view());
  CHECK(!broken.ok());
  CHECK(check_issue_order(p.view(), view_of(order)) == broken);
  CHECK(check_same_sums(p.view(), good.view()) == broken);
  CHECK(check_same_sums(good.view(), p.view()) == broken);
  for (progress_level level : {progress_level::independent_lanes, progress_level::one_order_per_device,
                               progress_level::one_order}) {
    CHECK(check_progress(p.view(), level) == broken);
    for (int peer : {-1, 2, largest_int}) {
      program lost = good;
      at(lost, 0, 2).peer = peer;
      CHECK(check_tables(lost.view()).ok());
      diagnosis const d = check_progress(lost.view(), level);
      CHECK((!d.ok() && d.first.device >= 0));
      CHECK(check_issue_order(lost.view(), view_of(order)).broken
            == rule::those_that_meet_are_issued_together);
    }
  }
}

}  // namespace
