#include <ashlar/cost/step/execution.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"
#include "random_cases.hpp"
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <vector>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::cost::testing {

namespace {

question asked_in_a_pipeline(int stages, int micro_batches, char const* schedule) {
  question q = asked(dense_model(24));
  q.layout.pipeline = stages;
  q.cluster.kinds.front().devices = stages;
  q.layout.data = 1;
  q.cluster.device().per_node = stages;
  q.batch = micro_batches;
  q.layout.order = catalog::find_any(schedule);
  return q;
}

execution run_of(question const& q, bool is_whole = false) {
  constants const c = round_constants();
  return execute(q, stages_of(q), passes_of(q, stages_of(q), c), c, is_whole);
}

double largest_of(std::vector<double> const& all) { return *std::max_element(all.begin(), all.end()); }

// Entries that `predict` has a use for, and a number of micro-batches that each can have.
bool trains_alone(catalog::entry const& e) {
  for (char const* other : {"inference", "1f1b-recompute", "chimera-backward-halving",
                            "depth-first-accumulation", "breadth-first-accumulation"})
    if (std::string_view(e.name) == other) return false;
  return true;
}

}  // namespace

TEST_CASE("execution: what devices hold grows with what stages keep, beyond any whole number of bytes") {
  question q = asked(dense_model(8));
  q.layout.pipeline = 4;
  q.layout.data = 2;
  q.layout.order = catalog::find("1f1b");
  constants const c = round_constants();
  std::vector<stage> const stages = stages_of(q);
  execution const e = execute(q, stages, passes_of(q, stages, c), c);
  std::vector<double> const few = e.held({4e9, 3e9, 2e9, 1e9}), many = e.held({4e29, 3e29, 2e29, 1e29});
  for (std::size_t d = 0; d < few.size(); ++d) CHECK(many[d] == doctest::Approx(1e20 * few[d]));
}

TEST_CASE("execution: closed forms have none") { CHECK(run_of(asked(dense_model(4))).is_empty()); }

TEST_CASE("execution: 1F1B takes what its closed form says, and holds as many micro-batches") {
  constants const c = round_constants();
  random_case::dice roll(11);
  for (int i = 0; i < random_cases(40); ++i) {
    int const p = roll.between(2, 8);
    question q = asked_in_a_pipeline(p, roll.between(p, 40), "1f1b");
    q.layout.recompute = recomputation::full;
    question closed = q;
    closed.layout.order = closed_form{};
    q.program.kind = closed.program.kind = program_kind::tuned;
    step_terms const a = step_of(q, stages_of(q), c), b = step_of(closed, stages_of(closed), c);
    // Transfers hold no device here.
    CHECK(a.seconds == doctest::Approx(b.seconds).epsilon(0.02));
    CHECK(peak_bytes(memory_of(q, stages_of(q), c))
          == doctest::Approx(peak_bytes(memory_of(closed, stages_of(closed), c))));
  }
}

TEST_CASE("execution: what takes long is as the simulated program takes it") {
  for (char const* name : {"zb-h1", "v-half", "dualpipev", "hanayo", "chimera"}) {
    CAPTURE(name);
    question const q = asked_in_a_pipeline(4, 16, name);
    execution const e = run_of(q);
    REQUIRE(e.timed.size() == 1);
    schedule free = e.timed[0];
    free.cost.on.links = {};
    free = squeeze(free);
    simulation_options o;
    o.cost = free.cost;
    CHECK(makespan(free) == simulate(lower(free), o).makespan());
    CHECK(e.seconds() >= e.tick * static_cast<double>(makespan(free)));
  }
}

TEST_CASE("execution: a backward in two takes as long as one in one") {
  question q = asked_in_a_pipeline(4, 16, "zb-h1");
  for (bool has_experts : {false, true}) {
    if (has_experts) q.model = routed_model(24);
    constants const c = round_constants();
    for (stage_passes const& s : passes_of(q, stages_of(q), c)) {
      CHECK(s.weight_seconds() > 0);
      CHECK(s.input_seconds() > s.weight_seconds());  // attention has no weights
      CHECK(s.weight_seconds() + s.input_seconds() == doctest::Approx(s.backward.seconds()));
    }
  }
}

TEST_CASE("execution: with very many micro-batches, some are enough") {
  random_case::dice roll(12);
  for (catalog::entry const& e : catalog::entries) {
    if (!trains_alone(e)) continue;
    for (int p : {2, 4}) {
      CAPTURE(e.name);
      CAPTURE(p);
      question q = asked_in_a_pipeline(p, 4 * p * roll.between(16, 24), e.name);
      if (e.uses(parameter::chunk_count) || e.uses(parameter::wave_count)) q.layout.chunks = 2;
      if (!e.check(shape_of(q.layout, q.batch)).ok()) continue;
      execution const some = run_of(q), all = run_of(q, true);
      REQUIRE(some.timed.size() == 2);
      REQUIRE(all.timed.size() == 1);
      CHECK(some.seconds() == doctest::Approx(all.seconds()).epsilon(0.002));
      std::vector<double> kept(static_cast<std::size_t>(stage_count(q)), 1000);
      std::vector<double> const held = some.held(kept), all_held = all.held(kept);
      for (int d = 0; d < p; ++d) {
        auto const device = static_cast<std::size_t>(d);
        CHECK(held[device] == doctest::Approx(all_held[device]).epsilon(0.01));
        std::vector<double> const a = some.micro_batches_on(d), b = all.micro_batches_on(d);
        for (std::size_t s = 0; s < a.size(); ++s) CHECK(a[s] == doctest::Approx(b[s]));
      }
    }
  }
}

TEST_CASE("execution: an order that is searched for is searched for few micro-batches") {
  for (catalog::entry const& e : catalog::searched_entries) {
    CAPTURE(e.name);
    question const q = asked_in_a_pipeline(4, 40, e.name);
    CHECK(run_of(q).seconds() == doctest::Approx(run_of(q, true).seconds()).epsilon(0.01));
  }
}

TEST_CASE("execution: every micro-batch goes through every stage once, whatever its route") {
  for (char const* name : {"dualpipe", "dualpipev", "stp", "v-zb", "chimera", "seq1f1b"}) {
    CAPTURE(name);
    question const q = asked_in_a_pipeline(4, 160, name);
    execution const e = run_of(q);
    std::vector<double> sums(static_cast<std::size_t>(stage_count(q)), 0);
    for (int d = 0; d < 4; ++d) {
      std::vector<double> const here = e.micro_batches_on(d);
      for (std::size_t s = 0; s < sums.size(); ++s) sums[s] += here[s];
    }
    for (double sum : sums) CHECK(sum == doctest::Approx(160));
  }
}

TEST_CASE("execution: V-shaped schedules hold a half and a third of what 1F1B holds") {
  auto const held = [&](char const* name) {
    question const q = asked_in_a_pipeline(8, 64, name);
    std::vector<double> const kept(static_cast<std::size_t>(stage_count(q)), 8e6 / stage_count(q));
    return largest_of(run_of(q).held(kept));
  };
  double const usual = held("1f1b");
  CHECK(held("zb-h1") == doctest::Approx(usual));
  CHECK(held("v-half") < 0.7 * usual);
  CHECK(held("v-min") < 0.55 * usual);
  CHECK(held("gpipe") == doctest::Approx(8 * usual));
}

TEST_CASE("execution: what cannot be executed is refused") {
  auto const broken = [](question const& q) {
    try {
      constants const c = round_constants();
      predict_run(q, c, {});
    } catch (unpredictable const& e) {
      return e.broken;
    }
    return requirement::sizes_are_positive;
  };
  CHECK(broken(asked_in_a_pipeline(4, 8, "inference")) == requirement::schedule_trains_alone);
  CHECK(broken(asked_in_a_pipeline(4, 8, "1f1b-recompute")) == requirement::schedule_trains_alone);
  CHECK(broken(asked_in_a_pipeline(4, 8, "chimera-backward-halving"))
        == requirement::schedule_has_every_micro_batch);
  CHECK(broken(asked_in_a_pipeline(4, 8, "depth-first-accumulation"))
        == requirement::schedule_has_every_device);
  question q = asked_in_a_pipeline(4, 8, "v-half");
  q.layout.chunks = 3;
  CHECK(broken(q) == requirement::schedule_has_these_chunks);
  CHECK_THROWS_AS(predict_run(asked_in_a_pipeline(4, 3, "dualpipe"), round_constants(), {}), violation);
  schedule const own = catalog::find("zb-h1")->make({devices{4}, ashlar::micro_batches{6}});
  q = asked_in_a_pipeline(4, 8, "zb-h1");
  q.layout.order = closed_form{};
  q.layout.order = own;
  CHECK(broken(q) == requirement::schedule_has_every_micro_batch);
  q.batch = 6;
  question same = q;
  same.layout.order = closed_form{};
  same.layout.order = catalog::find("zb-h1");
  CHECK(run_of(q).seconds() == run_of(same).seconds());
  q = asked_in_a_pipeline(1000, 1'000'000, "gpipe");
  q.model = dense_model(1000, 1024);
  q.cluster.kinds.front().devices = q.cluster.device().per_node = 1000;
  CHECK(broken(q) == requirement::schedule_is_small_enough);
  for (char const* name : {"dualpipe", "zb-h1", "hanayo"}) {
    q = asked_in_a_pipeline(500'000, 1'000'000, name);
    q.layout.chunks = 2;
    CHECK(broken(q) != requirement::sizes_are_positive);
  }
}

TEST_CASE("execution: few micro-batches are all executed, of many some") {
  CHECK(executes_all(asked_in_a_pipeline(4, 8, "zb-h1")));
  CHECK_FALSE(executes_all(asked_in_a_pipeline(4, 800, "zb-h1")));
}

TEST_CASE("execution: passes of no time, and of too much, are refused") {
  question const q = asked_in_a_pipeline(4, 8, "zb-h1");
  constants const c = round_constants();
  std::vector<stage_passes> const none(4), usual = passes_of(q, stages_of(q), c);
  auto const with_attention = [&](double seconds) {
    std::vector<stage_passes> passes = usual;
    passes[1].forward.attention = seconds;
    return execute(q, stages_of(q), passes, c, false);
  };
  CHECK_THROWS_AS(execute(q, stages_of(q), none, c, false), unpredictable);
  CHECK_THROWS_AS(with_attention(1e15), unpredictable);
  CHECK_THROWS_AS(with_attention(std::numeric_limits<double>::quiet_NaN()), unpredictable);
  CHECK_FALSE(with_attention(9e14).is_empty());
}

TEST_CASE("execution: with lanes, passes start as in the simulated program") {
  random_case::dice roll(13);
  int later = 0;
  for (int i = 0; i < random_cases(60); ++i) {
    constexpr char const* names[] = {"1f1b", "gpipe", "zb-h1", "v-half", "dualpipe", "chimera"};
    int const p = 2 * roll.between(1, 4);
    question q = asked_in_a_pipeline(p, p * roll.between(2, 5), names[i % 6]);
    q.cluster.device().per_node = q.cluster.device().domain = 1;
    q.cluster.kinds.front().devices = p;
    q.cluster.device().outside = 1e9 * roll.between(1, 30);
    schedule const free = run_of(q, true).timed[0];
    q.layout.lanes = static_cast<transfer_lanes>(roll.between(0, 3));
    schedule const s = run_of(q, true).timed[0];
    CAPTURE(i);
    CHECK(check(s).ok());
    simulation_options o;
    o.cost = free.cost;
    program const low = lower(free, {.lanes = *q.layout.lanes});
    timeline const line = time_program(low, o);
    CHECK(makespan(s) == line.makespan);
    for (int d = 0; d < p; ++d) {
      std::vector<tick> starts, simulated;
      for (timed_pass const t : each_pass(s.order[static_cast<std::size_t>(d)]))
        starts.push_back(t.start);
      for (int k = stream_begin(low, d); k < stream_end(low, d); ++k)
        if (low.instructions[static_cast<std::size_t>(k)].code == opcode::compute)
          simulated.push_back(line.timed[static_cast<std::size_t>(k)].start);
      CHECK(starts == simulated);
    }
    later += makespan(s) > makespan(free);
  }
  CHECK(later > 0);
}

}  // namespace ashlar::cost::testing
