#include <ashlar/model/work_view.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"

#include <doctest/doctest.h>

using namespace shapes;

namespace {

TEST_CASE("parts, edges and who reads what") {
  work_graph const graph(norm_jobs(2), norm_edges(2));
  work_view const work = graph.view();
  CHECK((!work.empty() && work.job_count() == 3 && work.part_count(0) == 2 && work.part_count(2) == 2));
  CHECK((work.knows({X, 2, 1}) && !work.knows({X, 2, 2}) && !work.knows({X, 3, 0})));
  CHECK((!work.knows({X, -1, 0}) && !work.knows({X, 0, -1}) && !work.knows({F, 0, 0})));
  CHECK((work.number({0, 0}) == 0 && work.number({2, 1}) == 5));
  CHECK((work.part({1, 1}).device == 1 && work.duration({1, 1}) == 2));
  CHECK((work.duration({0, 1}) == 1 && work.duration({9, 9}) == 0));
  CHECK((work.is_collective({X, 1, 0}) && !work.is_collective({X, 0, 0})));
  CHECK(!work.is_collective({F, 1, 0}));
  CHECK((work.inputs({X, 2, 1}).size() == 2 && work.inputs({X, 2, 1})[0].from == pass{B, 1, 0}));
  CHECK((work.inputs({X, 2, 1})[1].from == pass{X, 1, 1} && work.inputs({B, 1, 0}).empty()));
  CHECK((work.readers({B, 0, 0}).size() == 2 && work.readers({X, 2, 0}).empty()));
}

TEST_CASE("what is summed stands for the sum") {
  work_graph const graph(norm_jobs(2), norm_edges(2));
  int known = 0, summed = 0;
  for_each_work_input(graph.view(), {X, 2, 0}, [&](pass from, tick delay) {
    if (from == pass{B, 0, 0} && delay == 0) ++known;
    if (from.kind == X && from.stage == 0 && delay == 2) ++summed;  // one on each device
  });
  CHECK((known == 1 && summed == 2));
  for_each_work_input(work_graph().view(), {X, 2, 0}, [&](pass, tick) { ++known; });
  CHECK(known == 1);
}

TEST_CASE("a sum lasts as long as the longest of its parts") {
  std::vector<work_job> jobs = norm_jobs(2);
  jobs[1].parts[0].duration = 7;
  CHECK(work_graph(jobs, norm_edges(2)).view().duration({1, 1}) == 7);
}

}  // namespace
