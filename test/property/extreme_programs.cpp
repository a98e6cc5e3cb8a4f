// A check reads nothing that is not there and comes to an end, for any fields of a program. The
// sanitizers are the judges here.
#include "catalog_cases.hpp"
#include "extreme_program.hpp"
#include "random_cases.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/catalog/graphs.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/conformance/random_work.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/model/stage_graph.hpp>
#include <ashlar/prove/for_backend.hpp>
#include <ashlar/prove/progress.hpp>
#include <ashlar/prove/same_sums.hpp>
#include <ashlar/prove/wait_cycle.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

using namespace extreme_fields;

namespace {

// An order that is right, wrong in one place, or anything.
std::vector<int> some_order(dice& d, program const& base) {
  std::vector<int> order = issue_order(base.view());
  if (d.percent(30)) std::swap(one_of(d, order), one_of(d, order));
  for (int changes = d.between(0, 2); changes > 0; --changes) change_list(d, order);
  return order;
}

// Questions to views, which need not come from a program that is right.
void look_at_view(dice& d, program const& p, program const& base, bool is_right) {
  for (auto level : {progress_level::independent_lanes, progress_level::one_order_per_device,
                     progress_level::one_order}) {
    diagnosis const of_view = check_progress(p.view(), level), of_program = check(p, level);
    CHECK(!explain(of_view, p).empty());
    CHECK(!explain(of_program, p).empty());
    if (is_right) CHECK(of_program == of_view);
  }
  std::vector<int> const order = some_order(d, base);
  CHECK(!explain(check_issue_order(p.view(), view_of(order)), p).empty());
  diagnosis const sums = check_same_sums(base.view(), p.view());
  CHECK(!explain(sums, p).empty());
  CHECK(check_same_sums(p.view(), base.view()).ok() == sums.ok());
  if (is_right) CHECK(check_same_sums(p.view(), p.view()).ok());
}

void look_at(dice& d, program const& p, program const& base) {
  diagnosis const found = check(p);
  CHECK(!explain(found, p).empty());
  look_at_view(d, p, base, found.ok());
  if (std::vector<site> const circle = find_wait_cycle(p); found.ok()) CHECK(circle.empty());
  diagnosis const budget = check_memory_budget(
      p, [](value_key const&) { return std::numeric_limits<std::int64_t>::max(); }, 1);
  CHECK(!explain(budget, p).empty());
  simulation_options o;
  o.memory.stages[0] = {.weights = 1,
                        .optimizer_state = 1,
                        .weight_gradient = 1,
                        .activation = 1,
                        .gradient = 1,
                        .checkpoint = 1,
                        .stash = 1,
                        .weight_stash = 1};
  if (d.percent(50)) {
    auto const count = static_cast<std::size_t>(std::max(p.stage_count(), 1));
    o.cost.passes = std::vector<stage_cost>(count);
    o.memory.stages.assign(count, o.memory.stages[0]);
  }
  o.mode = d.percent(50) ? transfer_mode::buffered : transfer_mode::rendezvous;
  o.issue = d.percent(50) ? issue_mode::in_stream : issue_mode::by_slots;
  o.cost.on.links.node_size = d.between(0, 2);
  o.cost.on.links.inside = o.cost.on.collective = {d.between(0, 2), d.between(0, 2)};
  if (d.percent(5)) o.data_ranks = extreme(d, 1);
  if (d.percent(5)) change_cost(d, o.cost);
  if (d.percent(5)) change_memory(d, o.memory);
  try {
    simulation const s = simulate(p, o);
    CHECK(s.usage.size() == static_cast<std::size_t>(p.device_count()));
  } catch (violation const& v) {
    CHECK(!explain(v.why, p).empty());
  }
}

std::vector<program> programs() {
  std::vector<program> all;
  auto const add = [&](schedule const& s, lower_options const& o) { all.push_back(lower(s, o)); };
  for (catalog_case const& c : catalog_cases({2}, {4})) {
    schedule const s = c.schedule();
    auto const n = static_cast<int>(all.size());
    add(s, {});
    add(s, {.lanes = transfer_lanes::one_a_peer,
            .data_ranks = 2,
            .reduction = static_cast<gradient_reduction>(n % 3),
            .sharding = static_cast<sharding_level>(n / 2 % 5),
            .step = static_cast<optimizer_step>(n / 2 % 3)});
  }
  block const one = spread(catalog::find("1f1b")->block_of({devices{2}, micro_batches{2}}), 2);
  schedule const two_ways = overlay(one, mirror(one)) | repeat(micro_batches{2}) | squeeze();
  add(two_ways, {});
  add(two_ways, {.data_ranks = 2, .sharding = sharding_level::full});
  add(catalog::k_f_k_b(in_micro_batches(chain(stages{2}), {1, 2}), linear(devices{2}), micro_batches{4},
                       {2, 1}),
      {});
  for (char const* name : {"v-half", "chimera"})
    add(catalog::find(name)->make({devices{2}, micro_batches{4}}),
        {.lanes = transfer_lanes::one_a_direction,
         .step = optimizer_step::after_norm,
         .shared_parameters = {{0, 1}, {1}}});
  for (char const* name : {"1f1b", "zb-h1", "dualpipev"}) {
    schedule const s = catalog::find(name)->make({devices{2}, micro_batches{4}});
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
      add(conformance::with_random_work(s, seed, 5),
          {.data_ranks = seed % 2 == 0 ? 2 : 1,
           .sharding = seed == 4 ? sharding_level::full : sharding_level::none});
  }
  return all;
}

TEST_CASE("a program whose fields hold anything") {
  std::vector<program> const all = programs();
  for (std::size_t n = 0; n < all.size(); ++n) {
    REQUIRE(check(all[n]).ok());
    FOR_SEEDS(static_cast<std::uint64_t>(random_cases(600))) {
      CAPTURE(n);
      CAPTURE(seed);
      program p = all[n];
      for (int changes = seed % 3 == 0 ? 2 : 1; changes > 0; --changes) change(d, p);
      look_at(d, p, all[n]);
    }
  }
}

}  // namespace
