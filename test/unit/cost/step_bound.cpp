#include <ashlar/cost/step/step_bound.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/cost/step/step.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace ashlar::cost::testing {

namespace {

// A stage or two on a device each, and links that take next to no time.
question in_a_pipeline(int stages, int micro_batches, catalog::entry const& e) {
  question q = asked(dense_model(24));
  q.program.kind = program_kind::tuned;
  q.layout.pipeline = q.cluster.kinds.front().devices = q.cluster.device().per_node = stages;
  q.cluster.device().inside = 1e30;
  q.layout.data = 1;
  q.batch = micro_batches;
  q.layout.order = &e;
  if (e.uses(parameter::chunk_count) || e.uses(parameter::wave_count)) q.layout.chunks = 2;
  return q;
}

constants without_latency() {
  constants c = round_constants();
  c.latency = 1e-15;
  return c;
}

}  // namespace

TEST_CASE("step bound: no schedule is faster, and one that may do less is bounded higher") {
  constants const c = without_latency();
  int compared = 0;
  for (catalog::entry const& e : catalog::entries)
    for (int p : {2, 4})
      for (int m : {p, 3 * p}) {
        question const q = in_a_pipeline(p, m, e);
        try {
          step_terms const step = step_of(q, stages_of(q), c);
          schedule const& s = step.run.timed.at(0);
          schedule_traits traits{.may_have_pairs = false, .may_split = false};
          for (auto const& order : s.order) {
            for (time_slot const& t : order)
              traits.may_have_pairs = traits.may_have_pairs || t.is_pair();
            for (timed_pass const t : each_pass(order))
              traits.may_split = traits.may_split || t.what.kind == pass_kind::backward_weight;
          }
          CAPTURE(std::string(e.name));
          double const least = least_step_seconds(q, stages_of(q), traits, c);
          CHECK(least <= step.seconds);
          CHECK(least_step_seconds(q, stages_of(q), {}, c) <= least);
          // A stage on a device: it works behind the first forwards of those before it.
          if (s.stage_count() == p && s.where.route_count() == 1 && s.graph.sequence_chunks() == 1) {
            double ahead = 0;
            for (stage_passes const& each : step.of_stages) {
              CHECK(least > (ahead + m * each.seconds()) * (1 - 1e-5));
              ahead += each.forward.seconds();
            }
          }
          // Its slowest device, the one with the head, never waits between its passes.
          if (e.name == std::string_view("gpipe")) CHECK(least > step.seconds * (1 - 1e-5));
          ++compared;
        } catch (unpredictable const&) {
        } catch (violation const&) {
        }
      }
  CHECK(compared > 40);
}

}  // namespace ashlar::cost::testing
