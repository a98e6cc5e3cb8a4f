// Work in the gaps of published schedules, with transfers and uneven stages: proved, and on threads the
// bits of the sequential reference.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/conformance/network.hpp>
#include <ashlar/fill.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <utility>
#include <vector>

using namespace ashlar;

namespace {

// Each device has a job that adds up what each of its forwards (or recomputes) keeps, one that does so
// for backwards, and one that reads both sums.
work_graph factors(schedule const& s) {
  std::vector<work_job> jobs;
  std::vector<work_edge> edges;
  for (int d = 0; d < s.device_count(); ++d) {
    auto const first = static_cast<int>(jobs.size());
    for (bool of_inputs : {true, false}) {
      work_job job{.parts = {}, .does = compute_job{.state = own_state{}}};
      for (timed_pass const t : each_pass(s.order[static_cast<std::size_t>(d)])) {
        bool const is_read =
            of_inputs ? t.what.kind == pass_kind::forward : gives_input_gradient(t.what.kind);
        if (!is_read) continue;
        edges.push_back(
            {t.what,
             {pass_kind::work, static_cast<int>(jobs.size()), static_cast<int>(job.parts.size())}});
        job.parts.push_back({d, 3});
      }
      edges.push_back(
          {{pass_kind::work, static_cast<int>(jobs.size()), static_cast<int>(job.parts.size()) - 1},
           {pass_kind::work, first + 2, 0}});
      jobs.push_back(std::move(job));
    }
    jobs.push_back({.parts = {{d, 7}}});
  }
  return work_graph(jobs, edges);
}

}  // namespace

TEST_CASE("host: filled schedules are proved and give the sequential bits") {
  for (char const* name : {"1f1b", "gpipe", "v-half", "zb-h1", "dualpipe", "chimera", "depth-first"})
    for (bool interlocked : {false, true}) {
      CAPTURE(name);
      schedule step = catalog::find(name)->make({.p = devices{4}, .m = micro_batches{8}});
      std::vector<stage_cost> uneven;
      for (int stage = 0; stage < step.stage_count(); ++stage)
        uneven.push_back({10 + stage % 3, 12, 8 - stage % 2});
      step = retime(step, costs(uneven, 2));
      work_graph const work = factors(step);
      for (fill_policy policy : {fill_policy::first_fit, fill_policy::best_fit}) {
        filling const f = fill_steps(step, work, {.policy = policy, .interlocked = interlocked});
        REQUIRE(check(f.filled).ok());
        for (int d = 0; d < 4; ++d) {
          auto const steps = f.steps[static_cast<std::size_t>(d)];
          tick const idle = f.step - busy(step)[static_cast<std::size_t>(d)];
          CHECK(steps * idle
                >= busy(f.filled)[static_cast<std::size_t>(d)]
                       - f.filled.micro_batch_count() / 8 * busy(step)[static_cast<std::size_t>(d)]);
        }
        if (policy == fill_policy::first_fit) continue;
        program const p = lower(squeeze(f.filled));
        REQUIRE(check(p).ok());
        conformance::network on_host(p), expected(p);
        host::runtime runtime(p, on_host);
        sequential reference(p, expected);
        for (int run = 0; run < 2; ++run) {
          runtime.run();
          reference.run();
          CHECK(on_host.take() == expected.take());
        }
      }
    }
}
