// The lists that a graph of work was made from.
#pragma once

#include <ashlar/model/work.hpp>

#include <vector>

namespace ashlar {

// The jobs: work_graph(jobs_of(w), edges_of(w)) == w. Linear in parts.
constexpr std::vector<work_job> jobs_of(work_graph const& work) {
  work_view const v = work.view();
  std::vector<work_job> all;
  for (int number = 0; number < v.job_count(); ++number) {
    work_view::job const& j = v.of(number);
    work_part const* const first = v.parts.data() + j.first_part;
    all.push_back({{first, first + v.part_count(number)}, j.does});
  }
  return all;
}

// The edges by (from, to). Linear.
constexpr std::vector<work_edge> edges_of(work_graph const& work) {
  list_view<work_edge> const all = work.edges();
  return {all.begin(), all.end()};
}

}  // namespace ashlar
