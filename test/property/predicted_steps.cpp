// The pass costs of predictions, given to a simulation of the lowered program, and runs on several
// kinds of devices.
#include "predicted_runs.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/choose/layouts.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <cstddef>

namespace ashlar::cost::testing {

namespace {

// The end of the last pass of the lowered program.
tick simulated_end(schedule const& s) {
  simulation_options options;
  static_cast<execution_costs&>(options.cost) = s.cost;
  options.memory.stages.resize(static_cast<std::size_t>(s.stage_count()));
  options.latency_holds_lane = false;  // links are as many as messages
  program const p = lower(s);
  timeline const line = time_program(p, options);
  tick last = 0;
  std::size_t at = 0;
  for (int d = 0; d < p.view().device_count; ++d)
    for (instruction const& i : p.view().stream(d)) {
      if (i.code == opcode::compute) last = max_of(last, line.timed[at].end);
      ++at;
    }
  return last;
}

// Cuts the cluster of a question into two kinds, the second so many times slower.
question in_two_kinds(question q, int slower) {
  device_kind first = q.cluster.kinds.front();
  first.devices /= 2;
  device_kind second = first;
  first.name = "first";
  second.name = "second";
  second.device.peak.bf16 /= slower;
  second.device.peak.fp16 /= slower;
  q.cluster.kinds = {first, second};
  return q;
}

}  // namespace

TEST_CASE("predicted steps: a simulation of the program ends when the executed passes do") {
  random_case::dice roll(31);
  constants const c = round_constants();
  int compared = 0;
  for (int round = 0; round < 400 && compared < 40; ++round) {
    question q = random_question(roll);
    if (q.layout.pipeline == 1 || 1LL * q.micro_batches() * q.layout.pipeline * q.layout.chunks > 500)
      continue;
    q.layout.order = catalog::find(q.layout.chunks == 1 ? "1f1b" : "depth-first");
    try {
      step_terms const step = step_of(q, stages_of(q), c);
      if (step.run.timed.size() != 1) continue;
      ++compared;
      CHECK(simulated_end(step.run.timed[0]) == makespan(step.run.timed[0]));
      CHECK(step.run.seconds() == step.run.tick * static_cast<double>(simulated_end(step.run.timed[0])));
    } catch (unpredictable const&) {
    } catch (violation const&) {
    }
  }
  CHECK(compared >= 20);
}

TEST_CASE("predicted steps: slower devices never shorten a step, and two kinds alike change none") {
  random_case::dice roll(32);
  constants const c = round_constants();
  int compared = 0;
  for (int round = 0; round < 300; ++round) {
    question q = random_question(roll);
    // With as many ranks of a stage as a node has devices, all messages leave their node.
    if (q.layout.pipeline < 2 || q.layout.pipeline_inside) continue;
    q.program.kind = program_kind::tuned;
    device_kind& all = q.cluster.kinds.front();
    all.device.per_node = all.device.domain = 1;
    try {
      check(q);
      double const one = step_seconds(q, c), alike = step_seconds(in_two_kinds(q, 1), c),
                   slower = step_seconds(in_two_kinds(q, 2), c);
      CHECK(alike == one);
      // Virtual stages of uneven length are executed, of even length they have a closed form.
      if (q.layout.chunks == 1) CHECK(slower >= one);
      ++compared;
    } catch (unpredictable const&) {
    } catch (violation const&) {
    }
  }
  CHECK(compared >= 20);
}

}  // namespace ashlar::cost::testing
