// Random work over random schedules of chains and of other graphs, with sums over devices, transfers and
// uneven stages.
#pragma once

#include <ashlar/conformance/random_schedule.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/model/work.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

using namespace ashlar;

// Jobs of a few pieces that read passes of the step, and of work before them.
class random_filling {
 public:
  explicit random_filling(std::uint64_t seed) : engine_(seed) {
    step = squeeze(seed % 3 == 0 ? conformance::random_graph_schedule(seed)
                                 : conformance::random_schedule(seed));
    if (below(2) == 0) {
      std::vector<stage_cost> each;
      for (int i = 0; i < step.stage_count(); ++i)
        each.push_back({1 + below(5), 1 + below(5), 1 + below(5)});
      step = retime(step, costs(each, below(4)));
    }
    std::vector<work_job> jobs;
    std::vector<work_edge> edges;
    for (int count = below(9); count > 0; --count) {
      bool const sums = !jobs.empty() && below(8) == 0;
      auto const number = static_cast<int>(jobs.size());
      work_job& job = jobs.emplace_back();
      int const device = below(step.device_count());
      int const parts = sums ? step.device_count() : 1 + below(4);
      for (int k = 0; k < parts; ++k) {
        job.parts.push_back({sums ? k : device, 1 + below(6)});
        add_inputs(jobs, edges, {pass_kind::work, number, k}, job.parts.back().device);
      }
      if (!sums) {
        if (below(2) == 0) job.does = compute_job{.state = own_state{}};
        continue;
      }
      work_job& sum = jobs.emplace_back();
      sum.does = all_reduce_job{};
      for (int k = 0; k < parts; ++k) {
        sum.parts.push_back({k, 2});
        edges.push_back({{pass_kind::work, number, k}, {pass_kind::work, number + 1, k}});
        summed_.push_back({pass_kind::work, number, k});
      }
    }
    work = work_graph(jobs, edges);
  }

  schedule step;
  work_graph work;

 private:
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }

  void add_inputs(std::vector<work_job> const& jobs, std::vector<work_edge>& edges, pass to,
                  int device) {
    for (timed_pass const t : each_pass(step.order[static_cast<std::size_t>(device)])) {
      bool forgets = t.what.kind == pass_kind::backward_weight;
      for (timed_pass const other : each_pass(step.order[static_cast<std::size_t>(device)]))
        forgets = forgets
                  || (t.what.kind == pass_kind::forward
                      && other.what == pass{pass_kind::recompute, t.what.stage, t.what.micro_batch});
      if (!forgets && below(8) == 0) edges.push_back({t.what, to});
    }
    for (int job = 0; job < to.stage; ++job)
      for (std::size_t k = 0; k < jobs[static_cast<std::size_t>(job)].parts.size(); ++k) {
        pass const from{pass_kind::work, job, static_cast<int>(k)};
        bool is_summed = false;
        for (pass s : summed_) is_summed = is_summed || s == from;
        if (!is_summed && jobs[static_cast<std::size_t>(job)].parts[k].device == device && below(6) == 0)
          edges.push_back({from, to});
      }
  }

  std::mt19937_64 engine_;
  std::vector<pass> summed_;
};
