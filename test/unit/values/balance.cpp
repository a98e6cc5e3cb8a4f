#include <ashlar/values/balance.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "mutate.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/catalog/graphs.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/simulate/simulate.hpp>
#include <ashlar/values/coverage.hpp>

#include <cstddef>
#include <vector>

using namespace shapes;

namespace {

// For each micro-batch on a stage, the share of the batch whose counts have been added before the state
// is shown to its backward; the jobs of this stage begin with `counts`.
constexpr std::vector<double> shown(schedule const& s, int stage, int counts) {
  int const m = s.micro_batch_count(), totals = counts + 1 + m;
  std::vector<double> shares(static_cast<std::size_t>(m), 0.0);
  int added = 0;
  for (timed_pass const t : each_pass(s.order[static_cast<std::size_t>(s.where.device_of(0, stage))])) {
    if (t.what.kind != X || t.what.stage != totals) continue;
    if (t.what.micro_batch < m)
      ++added;
    else
      shares[static_cast<std::size_t>(t.what.micro_batch - m)] = static_cast<double>(added) / m;
  }
  return shares;
}

TEST_CASE("a balanced step is proved") {
  schedule const s = one_f_one_b(2, 3) | balance_experts({1});
  CHECK(check(s).ok());
  CHECK((s.work.job_count() == 1 + 3 + 1 && s.work.part_count(4) == 6));
  for (int sum = 1; sum <= 3; ++sum) CHECK(s.work.view().spans_ranks(sum));
  CHECK(check(lower(s, {.data_ranks = 2, .step = optimizer_step::at_end})).ok());
  CHECK(shown(s, 1, 0) == coverage(one_f_one_b(2, 3), stage_id{1}));
}

// The stream of device 1, and its instructions.
struct stream_of_balanced {
  program p = lower(one_f_one_b(2, 3) | balance_experts({1}), {.data_ranks = 2});

  int sum(int k) const { return mutate::find(p, 1, opcode::all_reduce, {X, 1 + k, 0}); }
  int add(int k) const { return mutate::find(p, 1, opcode::compute, {X, 4, k}); }
};

}  // namespace

TEST_CASE("balance: a backward is shown what coverage says, on every schedule of one route") {
  for (catalog_case const& c : catalog_cases({4}, {8}, costs(stage_cost{100, 100, 100}))) {
    CAPTURE(c);
    schedule const s = c.schedule();
    std::vector<int> all;
    for (int stage = 0; stage < s.stage_count(); ++stage) all.push_back(stage);
    if (s.mode == execution_mode::inference) {
      CHECK_BREAKS(every_pass_is_present, balance_experts(s, all));
    } else if (s.where.route_count() > 1) {
      CHECK_BREAKS(parameter_is_at_most, balance_experts(s, all));
    } else if (!recomputed_stages(s).empty()) {
      CHECK_BREAKS(work_reads_what_its_device_keeps, balance_experts(s, all));
    } else {
      for (tick delay : {tick{0}, tick{150}}) {
        schedule const balanced = balance_experts(s, all, balance_scope::running, {.all_reduce = delay});
        CHECK(check(lower(balanced)).ok());
        for (int stage : all) {
          std::vector<double> const found = shown(balanced, stage, stage * (2 + s.micro_batch_count())),
                                    now = coverage(s, stage_id{stage}, delay);
          bool same = true;
          // Its own counts are waited for.
          for (std::size_t k = 0; k < found.size(); ++k) same = same && found[k] >= now[k];
          CHECK(same);
          if (delay == 0) CHECK(found == now);
        }
      }
    }
  }
}

TEST_CASE("balance: of a micro-batch on all ranks, a backward waits for its own sum and keeps nothing") {
  schedule const s = one_f_one_b(2, 3) | balance_experts({1}, balance_scope::synchronised);
  CHECK(s.work.job_count() == 1 + 3);
  for (int k = 0; k < 3; ++k) {
    auto const read = s.work.view().inputs({shapes::B, 1, k});
    REQUIRE(read.size() == 1);
    CHECK(read[0].from == pass{X, 1 + k, 0});
  }
  CHECK(check(lower(s, {.data_ranks = 2})).ok());
}

TEST_CASE("balance: of the whole batch, one sum is read by all backwards, and all forwards come first") {
  schedule const s = schedule(catalog::find("gpipe")->make({devices{2}, micro_batches{3}}))
                     | balance_experts({0, 1}, balance_scope::global);
  CHECK(s.work.job_count() == 2 * 3);
  CHECK(s.work.view().inputs({X, 1, 0}).size() == 3);
  for (int k = 0; k < 3; ++k) CHECK(s.work.view().inputs({shapes::B, 1, k})[0].from == pass{X, 5, 0});
  CHECK(check(lower(s, {.data_ranks = 2})).ok());
  CHECK_BREAKS(counts_are_of_the_whole_batch,
               balance_experts(one_f_one_b(2, 3), {1}, balance_scope::global));
}

TEST_CASE("balance: a step is simulated, also where there are more jobs than stages") {
  schedule const s = one_f_one_b(2, 3) | balance_experts({0, 1});
  REQUIRE(s.work.view().clears_state(4));
  REQUIRE(s.work.job_count() > s.stage_count());
  CHECK(time_program(lower(s), {.cost = s.cost}).makespan == makespan(s));
}

TEST_CASE("balance: stages that there are not are refused") {
  CHECK_BREAKS(work_uses_what_exists, balance_experts(one_f_one_b(2, 2), {2}));
  CHECK_BREAKS(work_uses_what_exists, balance_experts(one_f_one_b(2, 2), {-1}));
  CHECK(balance_experts(one_f_one_b(2, 2), {}) == one_f_one_b(2, 2));
}

TEST_CASE(
    "balance: stages that take several micro-batches at once are refused, others beside them not") {
  schedule const s = catalog::k_f_k_b(in_micro_batches(chain(stages{2}), {1, 2}), linear(devices{2}),
                                      micro_batches{4}, {1, 1});
  CHECK_BREAKS(work_reads_what_its_device_keeps, balance_experts(s, {1}));
  CHECK(check(lower(balance_experts(s, {0}))).ok());
}

TEST_CASE("balance: counts that are used before their all-reduce are refused") {
  stream_of_balanced s;
  REQUIRE(s.sum(1) < s.add(1));
  mutate::move(s.p, 1, s.add(1), s.sum(1));
  CHECK(check(s.p).broken == rule::slot_holds_what_is_read);
}

TEST_CASE("balance: counts are not cleared before their last use, nor kept for the next step") {
  stream_of_balanced s;
  int const last = mutate::length(s.p, 1) - 1;
  REQUIRE(mutate::at(s.p, 1, last).code == opcode::clear);
  program early = s.p;
  mutate::move(early, 1, last, s.add(2));
  CHECK(check(early).broken == rule::state_is_cleared_after_its_last_use);
  mutate::drop(s.p, 1, last);
  diagnosis const d = check(s.p);
  CHECK(d.broken == rule::state_is_cleared_after_its_last_use);
  CHECK(d.first.code == opcode::clear);
}

TEST_CASE("balance: collectives that meet in another order on another device are refused") {
  // Two devices have two all-reduces in common, of a norm each; one takes them the other way round.
  schedule s = one_f_one_b(2, 2);
  std::vector<work_job> jobs(4, work_job{.parts = {{0, 1}, {1, 1}}});
  jobs[2].does = jobs[3].does = all_reduce_job{};
  std::vector<work_edge> edges;
  for (int d = 0; d < 2; ++d)
    for (int k = 0; k < 2; ++k) {
      s.order[static_cast<std::size_t>(d)].push_back({{X, k, d}, 0});
      edges.push_back({{X, k, d}, {X, 2 + k, d}});
    }
  s.work = work_graph(jobs, edges);
  program p = lower(squeeze(s));
  REQUIRE(check(p).ok());
  int const first = mutate::find(p, 1, opcode::all_reduce, {X, 2, 1}),
            second = mutate::find(p, 1, opcode::all_reduce, {X, 3, 1});
  REQUIRE(first < second);
  mutate::move(p, 1, first, second);
  CHECK(check(p).broken == rule::no_cycle_of_waits);
}
