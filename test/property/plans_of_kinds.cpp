// Compares plans on devices of several kinds with exhaustive search and with what must follow, on random
// small cases.
#include "random.hpp"
#include "random_cases.hpp"
#include "random_transformer.hpp"
#include <ashlar/plan.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace random_case;

namespace {

std::vector<catalog::entry const*> mixed_entries() {
  std::vector<catalog::entry const*> entries;
  for (char const* name : {"1f1b", "depth-first", "zb-h1", "v-half"})
    entries.push_back(catalog::find(name));
  return entries;
}

device_kind random_kind(dice& d, int node_size) {
  return {.machine = {.flops = 1e9 / d.between(1, 4),
                      .inside = 1e9 / d.between(1, 30),
                      .between = 1e9 / d.between(1, 60),
                      .memory = 1,
                      .node_size = node_size},
          .constants = {1.0 + 0.1 * d.between(0, 9), 1.0 * d.between(0, 4)},
          .count = node_size * d.between(1, 3)};
}

plan_question mixed_question(dice& d) {
  plan_question q;
  q.model = random_transformer(d, 7);
  q.kinds.clear();
  for (int k = d.percent(20) ? 3 : 2; k > 0; --k)
    q.kinds.push_back(random_kind(d, 1 << d.between(0, 1)));
  if (d.percent(30)) q.between_kinds = 1e9 / d.between(1, 90);
  q.batch = 12 * d.between(1, 2);
  q.largest_micro_batch = 2;
  q.chunks = {2};
  q.takes_fewer_devices = d.percent(30);
  if (d.percent(30)) q.objective = plan_objective::device_time;
  return q;
}

auto const no_progress = [](plan_phase, std::size_t, std::size_t) {};

// The bytes that a device may hold: the least of its members' memory, each counted for itself.
double allowed_by_members(plan_question const& q, training_plan const& plan, int device) {
  int const size = plan.layout.tensor * plan.layout.data;
  std::vector<double> memory;
  int all = 0;
  for (int k : plan.kinds) all += q.kinds[static_cast<std::size_t>(k)].count;
  for (int k : plan.kinds)
    memory.insert(
        memory.end(),
        static_cast<std::size_t>(q.kinds[static_cast<std::size_t>(k)].count * plan.device_count() / all),
        q.kinds[static_cast<std::size_t>(k)].machine.memory);
  REQUIRE(static_cast<int>(memory.size()) == plan.device_count());
  return *std::min_element(memory.begin() + device * size, memory.begin() + (device + 1) * size);
}

bool fits_each(plan_question const& q, training_plan const& plan) {
  auto const peaks = peak_memory(passes_of(plan, plan.micro_batches), bytes_of(q, plan));
  for (std::size_t d = 0; d < peaks.size(); ++d)
    if (static_cast<double>(peaks[d]) > allowed_by_members(q, plan, static_cast<int>(d))) return false;
  return true;
}

}  // namespace

TEST_CASE(
    "plans of kinds: none is better than the answer, and none that is left out fits or is better") {
  FOR_SEEDS(random_cases(40)) {
    plan_question q = mixed_question(d);
    std::vector<training_plan> const all = all_plans(q, mixed_entries());
    if (all.empty()) continue;
    for (device_kind& each : q.kinds) {  // as much as some device of some plan holds
      training_plan const& plan =
          all[static_cast<std::size_t>(d.between(0, static_cast<int>(all.size()) - 1))];
      auto const peaks = peak_memory(passes_of(plan, plan.micro_batches), bytes_of(q, plan));
      each.machine.memory = static_cast<double>(
          peaks[static_cast<std::size_t>(d.between(0, static_cast<int>(peaks.size()) - 1))]);
    }
    std::vector<double> fitting;
    for (training_plan const& plan : all) {
      double const seconds = simulated_seconds(q, plan);
      CHECK_MESSAGE(least_seconds(q, plan) <= seconds, "seed ", seed);
      if (fits_each(q, plan)) fitting.push_back(objective_of(q, plan, seconds));
    }
    std::sort(fitting.begin(), fitting.end());
    plan_answer const a = answer(q, mixed_entries(), 3, no_progress);
    REQUIRE(a.best.size() == std::min<std::size_t>(3, fitting.size()));
    CHECK_MESSAGE(a.rejected.size() == all.size() - fitting.size(), "seed ", seed);
    for (std::size_t i = 0; i < a.best.size(); ++i)
      CHECK_MESSAGE(objective_of(q, a.best[i].plan, a.best[i].seconds) == fitting[i], "seed ", seed);
    for (planned_step const& each : a.rejected)
      CHECK(each.budget == allowed_by_members(q, each.plan, each.fullest));

    // Twice the memory of one kind is at least as good.
    plan_question more = q;
    more.kinds[static_cast<std::size_t>(d.between(0, static_cast<int>(q.kinds.size()) - 1))]
        .machine.memory *= 2;
    plan_answer const b = answer(more, mixed_entries(), 1, no_progress);
    if (a.best.empty()) continue;
    REQUIRE(!b.best.empty());
    CHECK_MESSAGE(objective_of(more, b.best[0].plan, b.best[0].seconds)
                      <= objective_of(q, a.best[0].plan, a.best[0].seconds),
                  "seed ", seed);
  }
}

TEST_CASE("plans of kinds: two kinds alike take and hold what one kind does") {
  FOR_SEEDS(random_cases(30)) {
    plan_question two = mixed_question(d);
    two.objective = plan_objective::time;
    two.takes_fewer_devices = false;
    two.between_kinds = 0;
    two.kinds.resize(1);
    // There are several nodes of each kind, so that one kind's links go between nodes, too.
    device_kind& half = two.kinds[0];
    half.count = 2 * half.machine.node_size;
    half.machine.memory = 1e9;
    plan_question one = two;
    one.kinds[0].count *= 2;
    two.kinds.push_back(half);
    std::vector<training_plan> const of_one = all_plans(one, mixed_entries()),
                                     of_two = all_plans(two, mixed_entries());
    // Each plan of one kind is there, in some order of the kinds.
    for (training_plan const& plan : of_one) {
      auto const same = [&](training_plan const& other) {
        return other.layout == plan.layout && other.sharding == plan.sharding
               && other.entry == plan.entry && other.chunks == plan.chunks
               && other.layers == plan.layers;
      };
      CHECK_MESSAGE(std::any_of(of_two.begin(), of_two.end(), same), "seed ", seed);
    }
    // Each plan that uses both kinds takes and holds as much as on one.
    for (training_plan const& plan : of_two) {
      if (plan.kinds.size() < 2) continue;
      training_plan alike = plan;
      alike.kinds = {0};
      CHECK_MESSAGE(simulated_seconds(two, plan) == simulated_seconds(one, alike), "seed ", seed);
      CHECK(least_seconds(two, plan) == least_seconds(one, alike));
      planned_step mixed{.plan = plan}, plain{.plan = alike};
      find_fullest_device(two, passes_of(plan, plan.micro_batches), mixed);
      find_fullest_device(one, passes_of(alike, plan.micro_batches), plain);
      CHECK(mixed.bytes == plain.bytes);
      CHECK(mixed.fullest == plain.fullest);
      CHECK(mixed.budget == plain.budget);
    }
    plan_answer const a = answer(one, mixed_entries(), 1, no_progress),
                      b = answer(two, mixed_entries(), 1, no_progress);
    REQUIRE(a.best.empty() == b.best.empty());
    if (!a.best.empty()) CHECK_MESSAGE(b.best[0].seconds <= a.best[0].seconds, "seed ", seed);
  }
}

namespace {

// A pipeline of single devices, each of one of two kinds, and the layers of its stages.
struct small_pipeline {
  std::vector<int> kinds, layers;
};

void add_divisions(std::vector<int> const& kinds, std::vector<int>& layers, int rest,
                   std::vector<small_pipeline>& all) {
  int const left = static_cast<int>(kinds.size() - layers.size());
  if (left == 0) all.push_back({kinds, layers});
  for (int n = left == 1 ? rest : 1; left > 0 && n <= rest - left + 1; ++n) {
    layers.push_back(n);
    add_divisions(kinds, layers, rest - n, all);
    layers.pop_back();
  }
}

// Devices come in every order, not only one kind after the other.
std::vector<small_pipeline> every_pipeline(int first, int second, int layer_count) {
  std::vector<small_pipeline> all;
  std::vector<int> kinds(static_cast<std::size_t>(first), 0), layers;
  kinds.insert(kinds.end(), static_cast<std::size_t>(second), 1);
  do add_divisions(kinds, layers, layer_count, all);
  while (std::next_permutation(kinds.begin(), kinds.end()));
  return all;
}

}  // namespace

TEST_CASE("plans of kinds: no order of devices and no division gives the busiest less to do") {
  double worst = 1, sum = 0;
  int cases = 0;
  FOR_SEEDS(random_cases(60)) {
    plan_question q;
    q.model = {.layers = d.between(4, 8),
               .hidden = 8,
               .feed_forward = 32,
               .heads = 1,
               .vocabulary = 1.0 * d.between(1, 300),
               .sequence = 8};
    q.widths.scores = 0;
    q.kinds = {{.machine = {.flops = 1e9, .inside = 1e9, .between = 1e8, .memory = 1e9, .node_size = 1},
                .constants = {},
                .count = d.between(1, 2)},
               {.machine = {.flops = 1e9 / d.between(1, 5),
                            .inside = 1e9,
                            .between = 1e8,
                            .memory = 1e9,
                            .node_size = 1},
                .constants = {},
                .count = d.between(1, 2)}};
    q.batch = d.between(4, 12);
    q.largest_micro_batch = 1;
    q.levels = {sharding_level::none};
    int const p = q.kinds[0].count + q.kinds[1].count;
    double least_busy = 1e300, least = 1e300, planned_busy = 1e300, planned = 1e300;
    for (training_plan const& plan : all_plans(q, {catalog::find("1f1b")})) {
      if (plan.layout.pipeline != p || plan.layout.again != recomputation::none) continue;
      planned_busy = std::min(planned_busy, busiest_seconds(q, plan));
      planned = std::min(planned, simulated_seconds(q, plan));
    }
    training_layout const l{.pipeline = p};
    schedule const s = catalog::find("1f1b")->make({.p = devices{p}, .m = micro_batches{q.batch}});
    for (small_pipeline const& each :
         every_pipeline(q.kinds[0].count, q.kinds[1].count, q.model.layers)) {
      std::vector<stage_site> sites;
      for (int kind : each.kinds)
        sites.push_back({q.kinds[static_cast<std::size_t>(kind)].machine, {}, 1e8, 1e8});
      std::vector<stage_seconds> const times =
          stage_times(q.model, l, sharding_level::none, {each.layers, true}, sites);
      double busy = 0;
      for (stage_seconds const& stage : times) busy = std::max(busy, q.batch * stage.passes.both());
      least_busy = std::min(least_busy, busy);
      least = std::min(least, simulated_step(s, times, message_mode::beside));
    }
    CHECK_MESSAGE(planned_busy == doctest::Approx(least_busy), "seed ", seed);
    worst = std::max(worst, planned / least);
    sum += planned / least;
    ++cases;
  }
  // The mean and the worst loss of the step against the best of all orders and divisions.
  MESSAGE("mean ", sum / cases, ", worst ", worst);
  CHECK(worst < 1.1);
}

TEST_CASE("plans of kinds: divisions load no device more than they have to, and a slow one less") {
  FOR_SEEDS(random_cases(200)) {
    int const p = d.between(1, 4), n = p + d.between(0, 6);
    double const head = d.between(0, 20);
    std::vector<double> layer;
    for (int i = 0; i < p; ++i) layer.push_back(d.between(1, 9));
    placement const where = linear(devices{p});
    std::vector<small_pipeline> all;
    std::vector<int> none;
    add_divisions(std::vector<int>(static_cast<std::size_t>(p), 0), none, n, all);
    auto const busiest = [&](std::vector<int> const& sizes) {
      double most = 0;
      for (std::size_t i = 0; i < sizes.size(); ++i)
        most = std::max(most, sizes[i] * layer[i] + (i + 1 == sizes.size() ? head : 0));
      return most;
    };
    double least = 1e300;
    for (small_pipeline const& each : all) least = std::min(least, busiest(each.layers));
    std::vector<int> const sizes = balanced_division(n, layer, head, where);
    int sum = 0;
    for (int size : sizes) sum += size;
    CHECK(sum == n);
    CHECK_MESSAGE(busiest(sizes) == least, "seed ", seed);
    for (std::size_t a = 0; a < sizes.size(); ++a)
      for (std::size_t b = 0; b + 1 < sizes.size(); ++b)
        if (a + 1 < sizes.size() && layer[a] > layer[b])
          CHECK_MESSAGE(sizes[a] <= sizes[b], "seed ", seed);
  }
}
