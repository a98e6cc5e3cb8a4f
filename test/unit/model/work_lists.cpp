#include <ashlar/model/work_lists.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"

#include <doctest/doctest.h>

using namespace shapes;

namespace {

TEST_CASE("a graph of work and its lists") {
  std::vector<work_job> jobs = norm_jobs(2);
  jobs[0].does = compute_job{.state = own_state{.is_cleared = true}};
  jobs[2].does = compute_job{.state = shared_state{0}, .gradient = read_gradient{1}};
  work_graph const graph(jobs, norm_edges(2));
  CHECK((jobs_of(graph) == jobs && work_graph(jobs_of(graph), edges_of(graph)) == graph));
  std::vector<work_edge> const edges = edges_of(graph);
  CHECK(edges.size() == norm_edges(2).size());
  for (std::size_t i = 1; i < edges.size(); ++i)
    CHECK((edges[i - 1].from == edges[i].from ? precedes(edges[i - 1].to, edges[i].to)
                                              : precedes(edges[i - 1].from, edges[i].from)));
  CHECK((jobs_of({}).empty() && edges_of({}).empty()));
}

}  // namespace
