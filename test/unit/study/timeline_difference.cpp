#include <ashlar/study/timeline_difference.hpp>
// The header above comes first: it needs nothing before it.
#include "random.hpp"
#include "shapes.hpp"
#include <ashlar/schedule/squeeze.hpp>

#include <doctest/doctest.h>

using namespace shapes;

namespace {

// The passes of a schedule as they are and as another one of the same orders has them.
std::vector<paired_pass> paired(schedule const& measured, schedule const& planned) {
  std::vector<paired_pass> all;
  for (std::size_t d = 0; d < measured.order.size(); ++d)
    for (std::size_t i = 0; i < measured.order[d].size(); ++i) {
      time_slot const &m = measured.order[d][i], &p = planned.order[d][i];
      int const device = static_cast<int>(d);
      all.push_back(
          {m.what, device, m.start, measured.end_of(m, device), p.start, planned.end_of(p, device)});
    }
  return all;
}
tick sum_of(std::vector<path_difference> const& path) {
  tick sum = 0;
  for (path_difference const& p : path) sum += p.sum();
  return sum;
}

TEST_CASE("what is slower is on the path") {
  // Only stage 1 is slower than planned: it explains the whole difference.
  schedule const planned = squeeze(one_f_one_b(3, 4));
  schedule const measured = retime(planned, std::vector<stage_cost>{{1, 1, 1}, {5, 1, 1}, {1, 1, 1}});
  std::vector<path_difference> const path = path_of_difference(paired(measured, planned), 3, 4);
  CHECK(sum_of(path) == makespan(measured) - makespan(planned));
  tick of_stage = 0;
  for (path_difference const& p : path) {
    CHECK(p.longer == (p.what.stage == 1 && p.what.kind == F ? 4 : 0));
    if (p.what.stage == 1) of_stage += p.longer;
  }
  CHECK(of_stage >= sum_of(path));
  CHECK(path.front().what == pass{F, 0, 0});
}

TEST_CASE("what waits longer is on the path") {
  // Passes take the planned times, but messages take time.
  schedule const planned = squeeze(one_f_one_b(2, 1));
  schedule const measured = retime(planned, costs(stage_cost{}, 7));
  std::vector<path_difference> const path = path_of_difference(paired(measured, planned), 2, 1);
  CHECK(path.size() == 4);
  CHECK((path[0].sum() == 0 && path[2].sum() == 0));
  CHECK((path[1].what == pass{F, 1, 0} && path[1].device == 1 && path[1].later == 7
         && path[1].longer == 0));
  CHECK((path[3].what == pass{B, 0, 0} && path[3].later == 7));
}

}  // namespace

TEST_CASE("differences add up, whatever the times") {
  random_case::dice random(5);
  for (int round = 0; round < 200; ++round) {
    schedule const planned = squeeze(one_f_one_b(2 + round % 3, 1 + round % 5));
    std::vector<paired_pass> all = paired(planned, planned);
    for (paired_pass& p : all) {  // any times, sensible or not
      p.start = random.between(0, 49);
      p.end = p.start + 1 + random.between(0, 19);
    }
    auto const path = path_of_difference(all, planned.stage_count(), planned.micro_batch_count());
    REQUIRE(!path.empty());
    tick last = 0, planned_last = 0, most = 0;
    for (paired_pass const& p : all) {
      most = std::max(most, p.end);
      if (p.what == path.back().what) {
        last = p.end;
        planned_last = p.planned_end;
      }
    }
    CHECK(last == most);
    if (path.size() < all.size()) CHECK(sum_of(path) == last - planned_last);
  }
  CHECK(path_of_difference({}, 1, 1).empty());
}
