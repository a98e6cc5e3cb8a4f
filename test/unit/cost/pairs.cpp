#include <ashlar/cost/step/pairs.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/cost/step/answer.hpp>
#include <ashlar/cost/step/step.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::cost::testing {

namespace {

constexpr double one_tick = 1e-9;

// Expert ranks on all devices of a stage, on two nodes.
question asked_across_nodes(int pipeline = 2) {
  question q = asked(routed_model(8), 2 * pipeline);
  q.layout.pipeline = pipeline;
  q.layout.data = q.layout.expert = 16;
  q.batch = 16 * 16;
  return q;
}

double seconds_of(std::vector<pass_part> const& parts, part_resource on) {
  double ticks = 0;
  for (pass_part const& part : parts) ticks += part.on == on ? static_cast<double>(part.duration) : 0;
  return one_tick * ticks;
}

}  // namespace

TEST_CASE("pairs: the parts of a stage are its passes, in what they compute and exchange") {
  constants const c = round_constants();
  question q = asked_across_nodes();
  double const lost = 20 / q.cluster.device().units;  // beside an exchange, multiprocessors are fewer
  for (recomputation again : {recomputation::none, recomputation::norms, recomputation::full}) {
    q.layout.recompute = again;
    std::vector<stage> const stages = stages_of(q);
    std::vector<stage_passes> const passes = passes_of(q, stages, c);
    for (std::size_t s = 0; s < stages.size(); ++s) {
      stage_parts const parts = parts_in_pairs(q, stages[s], c, one_tick);
      pass_terms const &f = passes[s].forward, &b = passes[s].backward;
      CHECK(seconds_of(parts.forward, part_resource::exchange) == doctest::Approx(f.expert));
      CHECK(seconds_of(parts.forward, part_resource::compute)
            == doctest::Approx(f.on_device() - f.expert + lost * f.expert));
      CHECK(seconds_of(parts.backward, part_resource::exchange) == doctest::Approx(b.expert));
      CHECK(seconds_of(parts.backward, part_resource::compute)
            == doctest::Approx(b.on_device() - b.expert + lost * b.expert));
      CHECK(seconds_of(parts_of(parts, pass_kind::backward_weight), part_resource::compute)
            == doctest::Approx(b.weights));
    }
  }
}

TEST_CASE("pairs: none is longer than its passes, nor shorter than what it computes or exchanges") {
  constants c = round_constants();
  c.host = c.host_expert = c.host_each_expert = 1e-9;
  question q = asked_across_nodes();
  std::vector<stage> const stages = stages_of(q);
  std::vector<stage_passes> const passes = passes_of(q, stages, c);
  pair_costs const pairs = pairs_of(q, stages, passes, c, one_tick);
  REQUIRE(pairs.are_given());
  for (int ahead : {0, 1})
    for (int back : {0, 1}) {
      pass_terms const &f = passes[static_cast<std::size_t>(ahead)].forward,
                       &b = passes[static_cast<std::size_t>(back)].backward;
      double const pair = one_tick * static_cast<double>(pairs.of(ahead, pass_kind::backward, back));
      double const exchanges = f.expert + b.expert, computes = f.on_device() + b.on_device() - exchanges;
      CHECK(pair < 0.999 * (f.seconds() + b.seconds()));
      CHECK(pair > 0.999 * std::max(exchanges, computes));
      double const split =
          one_tick * static_cast<double>(pairs.of(ahead, pass_kind::backward_input, back));
      CHECK(split < pair);
    }
  // The host has to launch both.
  c.host_expert = 1;
  std::vector<stage_passes> const slow = passes_of(q, stages, c);
  double const launching =
      one_tick
      * static_cast<double>(pairs_of(q, stages, slow, c, one_tick).of(0, pass_kind::backward, 0));
  CHECK(launching == doctest::Approx(slow[0].forward.host + slow[0].backward.host));
}

TEST_CASE("pairs: each takes a tick or more, however long that is") {
  constants const c = round_constants();
  question const q = asked_across_nodes();
  std::vector<stage> const stages = stages_of(q);
  pair_costs const pairs = pairs_of(q, stages, passes_of(q, stages, c), c, 1e9);
  CHECK((pairs.are_given() && pairs.shortest() == 1 && pairs.longest() == 1));
}

TEST_CASE("pairs: there are none where nothing is exchanged between experts, or passes were measured") {
  constants const c = round_constants();
  question q = asked_across_nodes();
  std::vector<stage> const stages = stages_of(q);
  question other = q;
  other.layout.expert = 1;
  CHECK(!pairs_of(other, stages, passes_of(other, stages, c), c, one_tick).are_given());
  q.measured.stages = {{.forward = 1, .backward = 2}};
  CHECK(!pairs_of(q, stages, passes_of(q, stages, c), c, one_tick).are_given());
}

TEST_CASE("pairs: schedules that have them hide exchanges, and terms still add up") {
  constants c = round_constants();
  c.host = c.host_expert = c.host_each_expert = 1e-9;
  for (char const* name : {"dualpipe", "dualpipev", "combined-1f1b"}) {
    CAPTURE(name);
    question q = asked_across_nodes();
    q.layout.order = catalog::find(name);
    if (q.layout.published()->uses(parameter::chunk_count)) q.layout.chunks = 2;
    std::vector<stage> const stages = stages_of(q);
    step_terms const with = step_of(q, stages, c);
    CHECK(with.hidden > 0);
    CHECK(with.seconds
          == doctest::Approx(with.passes + with.bubble + with.stragglers + with.data + with.optimizer));
    pass_terms const sums = sum_of_passes(with);
    CHECK(sums.seconds() == doctest::Approx(with.passes));
    CHECK(sums.expert > 0);
    // It compares with the same order, alone.
    question measured = q;
    for (stage_passes const& s : with.of_stages)
      measured.measured.stages.push_back(
          {.forward = s.forward.seconds(), .backward = s.backward.seconds()});
    step_terms const without = step_of(measured, stages, c);
    CHECK(without.hidden == 0);
    CHECK(with.passes + with.bubble < 0.99 * (without.passes + without.bubble));
  }
  question dense = asked(dense_model(8), 4);
  dense.layout.pipeline = 2;
  dense.layout.data = 16;
  dense.layout.order = catalog::find("dualpipev");
  CHECK(step_of(dense, stages_of(dense), c).hidden == 0);
}

}  // namespace ashlar::cost::testing
