#include <ashlar/fill/part_times.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"

using namespace shapes;

namespace {

TEST_CASE("when parts can start") {
  schedule const s = one_f_one_b(2, 2);  // device 0: F 0..1, F 1..2, B 4..6, B 7..9
  work_graph const work(
      {{.parts = {{0, 2}, {1, 4}, {0, 3}}}, {.parts = {{0, 1}}}, {.parts = {{0, 1}}}},
      {{{F, 0, 1}, {X, 0, 0}}, {{X, 0, 2}, {X, 1, 0}}, {{B, 0, 0}, {X, 1, 0}}, {{X, 2, 0}, {B, 0, 1}}});
  part_times t(s, work.view());
  CHECK((t.count() == 5 && t.what(3) == pass{X, 1, 0} && t.device(1) == 1 && t.duration(2) == 3));
  CHECK((t.before(0) == part_times::nobody && t.before(1) == part_times::nobody && t.before(2) == 0));
  CHECK((t.released(0) == 2 && t.released(2) == 0 && t.released(3) == 6));
  CHECK(t.released_by_count(0) == 1);  // one forward is enough
  CHECK((t.deadline(4) == 7 && t.deadline(0) == part_times::never));
  CHECK((t.is_needed_by_pipeline(4) && !t.is_needed_by_pipeline(3)));
  CHECK((t.ready(0) == 2 && t.ready(2) == part_times::never && !t.is_placed(0)));
  t.place(0, 5);
  CHECK((t.is_placed(0) && t.end(0) == 7 && t.ready(2) == 7));
  t.place(2, 10);
  CHECK(t.ready(3) == 13);
  append_rest(t, 2, 9);
  CHECK((t.start(0) == 5 && t.start(1) == 9 && t.start(3) == 13 && t.start(4) == 14));
}

TEST_CASE("what is summed is there when all have given their part") {
  schedule const s = one_f_one_b(2, 1);
  work_graph const work(norm_jobs(2),
                        norm_edges(2));  // norms 0 and 1, sums 2 and 3, their readers 4 and 5
  part_times t(s, work.view());
  CHECK((t.is_collective(2) && t.before(1) == part_times::nobody));
  t.place(0, 10);
  CHECK(t.ready(4) == part_times::never);
  t.place(1, 20);
  CHECK((t.ready(4) == 20 + 1 + 2 && t.ready(5) == 23));
}

TEST_CASE("part_times: passes and devices that there are not") {
  schedule const s = one_f_one_b(2, 2);
  CHECK_BREAKS(every_pass_is_known,
               part_times(s, work_graph({{.parts = {{0, 1}}}}, {{{F, 0, 2}, {X, 0, 0}}}).view()));
  CHECK_BREAKS(every_pass_is_known,
               part_times(s, work_graph({{.parts = {{0, 1}}}}, {{{F, -1, 0}, {X, 0, 0}}}).view()));
  CHECK_BREAKS(every_pass_is_known, part_times(s, work_graph({{.parts = {{2, 1}}}}, {}).view()));
}

}  // namespace
