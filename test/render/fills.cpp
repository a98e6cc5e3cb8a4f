// The pictures of docs/fill.md: curvature (a piece of a tick for each forward and backward) and
// inversions (3 ticks each) in the bubbles of 1F1B and V-Half. With ASHLAR_DRAW in the environment they
// are drawn anew.
#include "pictures.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/fill.hpp>
#include <ashlar/render/svg.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

using namespace ashlar;

namespace {

work_graph second_order_work(schedule const& s) {
  std::vector<work_job> jobs;
  std::vector<work_edge> edges;
  for (int stage = 0; stage < s.stage_count(); ++stage)
    for (bool of_inputs : {true, false}) {
      auto const pieces = static_cast<int>(jobs.size());
      int const d = s.where.device_of(0, stage);
      jobs.push_back({.parts = std::vector<work_part>(s.route.size(), {d, 1}),
                      .does = compute_job{.state = own_state{}}});
      jobs.push_back({.parts = {{d, 3}}});
      for (timed_pass const t : each_pass(s.order[static_cast<std::size_t>(d)]))
        if (t.what.stage == stage
            && (of_inputs ? t.what.kind == pass_kind::forward : gives_input_gradient(t.what.kind)))
          edges.push_back({t.what, {pass_kind::work, pieces, t.what.micro_batch}});
      edges.push_back(
          {{pass_kind::work, pieces, s.micro_batch_count() - 1}, {pass_kind::work, pieces + 1, 0}});
    }
  return work_graph(jobs, edges);
}

std::string filled_picture(char const* name, stage_cost cost, char const* title) {
  schedule const step =
      catalog::find(name)->make({.p = devices{4}, .m = micro_batches{4}, .cost = costs(cost)});
  return svg(fill(step, second_order_work(step), {.interlocked = true}),
             {.title = title, .widest = 1300});
}

}  // namespace

TEST_CASE("the pictures of filled schedules in the documentation") {
  struct drawn {
    char const* file;
    std::string text;
  };
  for (drawn const& picture :
       {drawn{"fill-1f1b.svg", filled_picture("1f1b", {4, 4, 4}, "1F1B with second-order work")},
        drawn{"fill-v-half.svg",
              filled_picture("v-half", {4, 4, 4}, "V-Half with second-order work")}}) {
    if (std::getenv("ASHLAR_DRAW") != nullptr)
      std::ofstream(std::string(ASHLAR_TEST_DATA) + "/pictures/" + picture.file) << picture.text;
    CAPTURE(picture.file);
    CHECK(picture.text == picture_file(picture.file));
  }
}
