#include "random.hpp"
#include "random_cases.hpp"
#include "violations.hpp"
#include <ashlar/model/in_flight.hpp>
#include <ashlar/model/operator_partition.hpp>
#include <ashlar/plan/graphs/graph_plan.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <algorithm>
#include <functional>
#include <set>

using namespace ashlar;

namespace {

using graph_operators = std::set<int>;

// A random tree of series and parallel parts with its edges, and every set of operators that may be a
// stage: runs of parts of a series, and sets of branches.
struct random_tree {
  std::vector<stage_edge> edges;
  std::set<graph_operators> allowed;
  int count = 0;

  struct piece {
    graph_operators all, first, last;
  };

  piece leaf() {
    piece const p{{count}, {count}, {count}};
    allowed.insert(p.all);
    ++count;
    return p;
  }
  static graph_operators joined(graph_operators a, graph_operators const& b) {
    a.insert(b.begin(), b.end());
    return a;
  }
  std::vector<int> shares(random_case::dice& d, int n) {
    std::vector<int> each;
    for (int left = n; left > 0; left -= each.back())
      each.push_back(d.between(1, each.empty() ? std::max(1, n - 1) : left));
    return each;
  }
  piece series(random_case::dice& d, int n) {
    if (n == 1) return leaf();
    std::vector<piece> parts;
    for (int share : shares(d, n)) parts.push_back(share == 1 ? leaf() : parallel(d, share));
    for (std::size_t i = 1; i < parts.size(); ++i)
      for (int from : parts[i - 1].last)
        for (int to : parts[i].first) edges.push_back({from, to});
    for (std::size_t i = 0; i < parts.size(); ++i) {
      graph_operators run;
      for (std::size_t j = i; j < parts.size(); ++j) allowed.insert(run = joined(run, parts[j].all));
    }
    graph_operators all;
    for (piece const& p : parts) all = joined(all, p.all);
    return {all, parts.front().first, parts.back().last};
  }
  piece parallel(random_case::dice& d, int n) {
    if (n == 1) return leaf();
    std::vector<piece> branches;
    for (int share : shares(d, n)) branches.push_back(series(d, share));
    piece whole;
    for (std::size_t set = 1; set < std::size_t{1} << branches.size(); ++set) {
      graph_operators some;
      for (std::size_t i = 0; i < branches.size(); ++i)
        if ((set >> i & 1) != 0) some = joined(some, branches[i].all);
      allowed.insert(some);
    }
    for (piece const& b : branches)
      whole = {joined(whole.all, b.all), joined(whole.first, b.first), joined(whole.last, b.last)};
    return whole;
  }
};

operator_model random_model(random_case::dice& d, stage_graph graph) {
  operator_model m{std::move(graph), {}};
  for (int o = 0; o < m.graph.count(); ++o)
    m.cost.push_back({.launch = d.between(0, 6),
                      .forward = d.between(1, 9),
                      .backward_input = d.between(1, 9),
                      .backward_weight = d.between(1, 9),
                      .weights = d.between(0, 8),
                      .kept = d.between(0, 4),
                      .output = d.between(0, 12)});
  return m;
}

// Whether the stages keep within memory and messages within the time; and the busiest device's time.
tick rated(operator_model const& m, operator_machine const& machine, operator_batch const& batch,
           operator_partition const& cut, std::vector<stage_choice> const& how) {
  std::vector<operator_cost> sum(how.size());
  std::vector<int> sizes;
  tick time = 0;
  for (stage_choice const& h : how) sizes.push_back(h.micro_batch);
  for (int o = 0; o < m.graph.count(); ++o) {
    auto const from = static_cast<std::size_t>(o);
    sum[static_cast<std::size_t>(cut.stage_of[from])].add(m.cost[from]);
    for (int after : m.graph.successors(o))
      if (machine.bandwidth > 0 && cut.stage_of[static_cast<std::size_t>(after)] != cut.stage_of[from])
        time = std::max<tick>(
            time, (m.cost[from].output * batch.samples + machine.bandwidth - 1) / machine.bandwidth);
  }
  auto const held = in_flight(in_micro_batches(cut.graph, sizes));
  for (std::size_t s = 0; s < how.size(); ++s) {
    if (memory_of_stage(sum[s], how[s], held[s], batch.samples) > machine.memory) return -1;
    time = std::max(time, busy_of_stage(sum[s], how[s], batch.samples));
  }
  return time;
}

// The least time over all partitions into `allowed` stages (none given: into any convex ones), all
// devices and sizes.
tick exhaustive(operator_model const& m, operator_machine const& machine, operator_batch const& batch,
                std::set<graph_operators> const* allowed) {
  tick best = -1;
  std::vector<int> stage_of(m.cost.size(), 0);
  std::vector<stage_choice> how;
  auto const try_choices = [&](auto const& self, operator_partition const& cut, int left) -> void {
    int const more = cut.graph.count() - static_cast<int>(how.size());
    if (more == 0) {
      tick const time = rated(m, machine, batch, cut, how);
      if (time >= 0 && (best < 0 || time < best)) best = time;
      return;
    }
    for (int b = 1; b <= batch.largest_micro_batch && batch.samples % b == 0; b *= 2)
      for (int d = 1; d <= std::min(b, left - more + 1); ++d) {
        how.push_back({b, d});
        self(self, cut, left - d);
        how.pop_back();
      }
  };
  auto const try_partitions = [&](auto const& self, std::size_t at, int used) -> void {
    if (used > machine.device_count) return;
    if (at < stage_of.size()) {
      for (int s = 0; s <= used; ++s) {
        stage_of[at] = s;
        self(self, at + 1, std::max(used, s + 1));
      }
      return;
    }
    if (allowed != nullptr) {
      std::vector<graph_operators> members(static_cast<std::size_t>(used));
      for (std::size_t o = 0; o < stage_of.size(); ++o)
        members[static_cast<std::size_t>(stage_of[o])].insert(static_cast<int>(o));
      for (graph_operators const& each : members)
        if (!allowed->contains(each)) return;
    }
    if (check_partition(m.graph, stage_of).ok())
      try_choices(try_choices, partitioned(m.graph, stage_of), machine.device_count);
  };
  try_partitions(try_partitions, 0, 0);
  return best;
}

void check_plan(operator_model const& m, operator_machine const& machine, operator_batch const& batch,
                graph_plan const& plan) {
  std::vector<int> stage_of(m.cost.size(), -1);
  std::vector<stage_choice> how;
  int used = 0;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    for (int o : plan.stages[s].operators) {
      CHECK(stage_of[static_cast<std::size_t>(o)] == -1);
      stage_of[static_cast<std::size_t>(o)] = static_cast<int>(s);
    }
    how.push_back(plan.stages[s].how);
    used += plan.stages[s].how.devices;
  }
  CHECK(used <= machine.device_count);
  CHECK(std::find(stage_of.begin(), stage_of.end(), -1) == stage_of.end());
  operator_partition const cut = partitioned(m.graph, stage_of);
  CHECK(cut.stage_of == stage_of);
  CHECK(rated(m, machine, batch, cut, how) >= plan.time);
  schedule const s = schedule_of(m, plan, batch.samples);
  CHECK(check(s).ok());
  auto const busiest = busy(s);
  CHECK(*std::max_element(busiest.begin(), busiest.end()) == plan.time);
}

TEST_CASE("the best of all stages that are runs or branches, compared with all convex ones") {
  int plans = 0, worse = 0;
  double longer = 0;
  FOR_SEEDS(static_cast<unsigned>(random_cases(120))) {
    CAPTURE(seed);
    random_tree tree;
    int const n = d.between(2, seed % 12 == 0 ? 8 : 6);
    d.percent(50) ? tree.series(d, n) : tree.parallel(d, n);
    operator_model const m = random_model(d, stage_graph(stages{tree.count}, tree.edges));
    graph_operators all;
    for (int o = 0; o < n; ++o) all.insert(o);
    tree.allowed.insert(all);
    operator_machine const machine{.device_count = d.between(1, 4),
                                   .memory = d.percent(60) ? d.between(10, 60) : max_tick,
                                   .bandwidth = d.percent(40) ? d.between(1, 3) : 0};
    operator_batch const batch{8, 1 << d.between(0, 2)};
    graph_plan const plan = best_graph_plan(m, machine, batch);
    CHECK(plan.is_exact);
    tick const least = exhaustive(m, machine, batch, &tree.allowed),
               any = exhaustive(m, machine, batch, nullptr);
    graph_partitioner search(m, machine, batch);
    CHECK(least_time_of(search) == least);
    CHECK(plan.found() == (any >= 0));
    if (!plan.found()) continue;
    check_plan(m, machine, batch, plan);
    CHECK(plan.time <= any);  // messages may take longer than the busiest device
    if (least < 0) continue;
    ++plans;
    worse += any < least;
    longer += static_cast<double>(least - any) / static_cast<double>(any);
  }
  MESSAGE(plans, " plans, ", worse, " longer than the best over all convex stages, on average by ",
          100 * longer / plans, " %");
  CHECK(2 * worse < plans);
}

TEST_CASE("graphs that are no trees have plans, too, and small ones the best over all convex stages") {
  int inexact = 0;
  FOR_SEEDS(static_cast<unsigned>(random_cases(60))) {
    CAPTURE(seed);
    int const n = d.between(4, 6);
    std::vector<stage_edge> edges;
    for (int to = 1; to < n; ++to)
      for (int from = 0; from < to; ++from)
        if (d.percent(35)) edges.push_back({from, to});
    operator_model const m = random_model(d, stage_graph(stages{n}, edges));
    operator_machine const machine{.device_count = d.between(1, 3), .memory = d.between(20, 200)};
    operator_batch const batch{8, 2};
    graph_plan const plan = best_graph_plan(m, machine, batch);
    graph_partitioner tree(m, machine, batch);
    inexact += !tree.is_exact();
    tick const least = exhaustive(m, machine, batch, nullptr);
    REQUIRE(plan.found() == (least >= 0));
    if (!plan.found()) continue;
    tick const of_tree = least_time_of(tree);
    CHECK((of_tree < 0 || of_tree >= least));
    check_plan(m, machine, batch, plan);
    CHECK(plan.time == least);
    CHECK(plan.is_exact);
  }
  CHECK(inexact > 0);
}

TEST_CASE("more branches than are tried in all sets") {
  std::vector<stage_edge> edges;
  for (int branch = 0; branch < 12; ++branch) edges.push_back({branch, 12});
  operator_model m{stage_graph(stages{13}, edges), {}};
  m.cost.assign(13, {.forward = 2, .backward_input = 2, .backward_weight = 2});
  graph_plan const plan = best_graph_plan(m, {.device_count = 4}, {4, 1});
  check_plan(m, {.device_count = 4}, {4, 1}, plan);
  CHECK(plan.time == 4 * 4 * 6);  // four branches a stage, and the last one
}

// 300^3 sums took minutes.
TEST_CASE("hundreds of operators beside each other") {
  operator_model model{.graph = stage_graph(stages{300}, {}), .cost = {}};
  for (int i = 0; i < 300; ++i) model.cost.push_back({.forward = 10 + i % 7, .backward_input = 10});
  graph_plan const best =
      best_graph_plan(model, {.device_count = 4}, {.samples = 4, .largest_micro_batch = 4});
  tick sum = 0;
  for (operator_cost const& c : model.cost) sum += 4 * (c.forward + c.backward_input);
  CHECK(best.time >= sum / 4);
  CHECK(best.time <= sum / 4 + 4 * 26);
}

TEST_CASE("what cannot be planned is refused") {
  operator_model m{chain(stages{2}), {{.forward = 1}, {.forward = 1}}};
  CHECK_BREAKS(counts_are_positive, best_graph_plan(m, {.device_count = 0}, {}));
  CHECK_BREAKS(parameter_is_at_most, best_graph_plan(m, {}, {1 << 20, 1 << 20}));
  m.cost[1].kept = -1;
  CHECK_BREAKS(sizes_fit, best_graph_plan(m, {}, {}));
  m.cost[1] = {.launch = -1};
  CHECK_BREAKS(no_duration_is_negative, best_graph_plan(m, {}, {}));
  m.cost.pop_back();
  CHECK_BREAKS(tables_agree, best_graph_plan(m, {}, {}));
  m = {chain(stages{2}), {{.weights = 3}, {.weights = 9}}};
  CHECK(!best_graph_plan(m, {.device_count = 2, .memory = 8}, {}).found());
  CHECK(best_graph_plan(m, {.device_count = 2, .memory = 9}, {}).found());
}

}  // namespace
