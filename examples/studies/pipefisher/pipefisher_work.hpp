// The second-order work of one device, from measured or modelled times: curvature in pieces, one for
// each micro-batch, and inversions.
#pragma once

#include <ashlar/fill/fill.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace systems {

inline constexpr char const* up = ":up_pipe";  // marks what is of the second route

// Classes in the order of the published priorities.
enum class work_class { curvature_a, curvature_b, sync_a, sync_b, inversion_a, inversion_b };
inline constexpr char const* class_names[] = {"cov_kron_A",  "cov_kron_B", "sync_kron_A",
                                              "sync_kron_B", "inv_kron_A", "inv_kron_B"};

struct work_event {
  std::string label;
  work_class of = work_class::curvature_a;
  ashlar::tick start = 0;  // only its order counts
  ashlar::tick duration = 0;

  bool is_curvature() const { return of <= work_class::curvature_b; }
  bool is_of_inputs() const { return static_cast<int>(of) % 2 == 0; }
  int route() const { return label.find(up) == std::string::npos ? 0 : 1; }
};

// A step and its work, with the events that the jobs were made of.
struct instance {
  ashlar::schedule step;
  ashlar::work_graph work;
  std::vector<work_event> events;  // by job
};

// `events` by device. An inversion waits for all curvature (and all synchronisation) of its kind.
inline instance make_instance(ashlar::schedule step, std::vector<std::vector<work_event>> by_device) {
  using namespace ashlar;
  instance made{std::move(step), {}, {}};
  schedule const& s = made.step;
  std::vector<work_job> jobs;
  std::vector<work_edge> edges;
  for (int d = 0; d < s.device_count(); ++d) {
    auto& events = by_device[static_cast<std::size_t>(d)];
    std::stable_sort(events.begin(), events.end(), [](work_event const& a, work_event const& b) {
      return a.of != b.of ? a.of < b.of : a.start < b.start;
    });
    // The passes of each kind and route there, in order of time.
    std::vector<pass> passes[2][2];
    for (timed_pass const t : each_pass(s.order[static_cast<std::size_t>(d)]))
      passes[t.what.kind == pass_kind::forward ? 0 : 1]
            [s.route[static_cast<std::size_t>(t.what.micro_batch)]]
                .push_back(t.what);
    auto const pieces = static_cast<int>(passes[0][0].size());
    auto const first = static_cast<int>(jobs.size());
    for (work_event const& e : events) {
      auto const number = static_cast<int>(jobs.size());
      int const parts = e.is_curvature() ? pieces : 1;
      jobs.push_back(
          {.parts = std::vector<work_part>(static_cast<std::size_t>(parts), {d, e.duration / parts}),
           .does = e.is_curvature() ? compute_job{.state = own_state{}} : compute_job{}});
      if (e.is_curvature()) {
        auto const& read = passes[e.is_of_inputs() ? 0 : 1][e.route()];
        for (int k = 0; k < parts && k < static_cast<int>(read.size()); ++k)
          edges.push_back({read[static_cast<std::size_t>(k)], part_id{number, k}});
      } else {
        for (int before = first; before < number; ++before) {
          work_event const& b = made.events[static_cast<std::size_t>(before)];
          if (b.is_of_inputs() == e.is_of_inputs() && b.of < e.of)
            edges.push_back({part_id{before, b.is_curvature() ? pieces - 1 : 0}, part_id{number, 0}});
        }
      }
      made.events.push_back(e);
    }
  }
  made.work = work_graph(jobs, edges);
  return made;
}

}  // namespace systems
