// Stage graphs of all kinds: their schedules, programs, and how these agree with chains.
#include "live_values.hpp"
#include "random.hpp"
#include "random_cases.hpp"
#include <ashlar/bounds/graph_bound.hpp>
#include <ashlar/catalog/graphs.hpp>
#include <ashlar/catalog/one_f_one_b.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/conformance/random_schedule.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/model/operator_partition.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace random_case;

namespace {

stage_graph any_graph(dice& d, int count, bool sized) {
  std::vector<stage_edge> edges;
  std::vector<int> sizes;
  for (int to = 0; to < count; ++to) {
    for (int from = 0; from < to; ++from)
      if (d.percent(35)) edges.push_back({from, to});
    sizes.push_back(sized ? 1 << d.between(0, 3) : 1);
  }
  return in_micro_batches(stage_graph(stages{count}, edges), sizes);
}

TEST_CASE("stages of any sizes and turns never wait in a cycle, and hold what the rule says") {
  FOR_SEEDS(static_cast<unsigned>(random_cases(400))) {
    CAPTURE(seed);
    int const count = d.between(1, 8);
    stage_graph const g = any_graph(d, count, d.percent(70));
    std::vector<int> k;
    for (int s = 0; s < count; ++s) k.push_back(d.percent(50) ? 1 : 1 << d.between(0, 2));
    int const m = g.together() * d.between(1, 6);
    schedule const s =
        catalog::k_f_k_b(g, linear(devices{count}), micro_batches{m}, k, random_costs(d, count));
    CHECK(check(s).ok());
    auto const units = in_flight(g, k);
    auto const held = peak_activations(s);
    for (std::size_t i = 0; i < held.size(); ++i) {
      int const size = g.size_of(static_cast<int>(i));
      CHECK(held[i] == std::min<std::int64_t>(m / size, (units[i] + size - 1) / size));
    }
  }
}

// The first module may take several micro-batches at once.
TEST_CASE("modules with grids of their own: proved, and each replica runs 1F1B") {
  FOR_SEEDS(static_cast<unsigned>(random_cases(200))) {
    CAPTURE(seed);
    std::vector<module_grid> grids;
    std::vector<int> sizes, replicas;
    int const first = d.percent(50) ? 1 : 1 << d.between(1, 2);
    for (int modules = d.between(1, 3), i = 0; i < modules; ++i) {
      grids.push_back({stages{d.between(1, 3)}, d.between(1, 3)});
      for (int s = 0; s < grids.back().length.value; ++s) {
        sizes.push_back(i == 0 ? first : 1);
        replicas.push_back(grids.back().replicas);
      }
    }
    placement const where = in_grids(grids);
    int const count = where.stage_count();
    stage_graph const graph = in_micro_batches(chain(stages{count}), sizes);
    micro_batches const m{graph.together() * where.route_count() * d.between(1, 4)};
    costs const cost = random_costs(d, count);
    schedule const s = catalog::grids_one_f_one_b(graph, grids, m, cost);
    CHECK(check(s).ok());
    program const p = lower(s);
    CHECK(check(p).ok());
    for (int stage = 0; stage < count; ++stage)
      CHECK(static_cast<int>(p.groups.holders(stage).size())
            == replicas[static_cast<std::size_t>(stage)]);
    simulation_options o;
    o.cost = cost;
    o.latency_holds_lane = false;
    CHECK(simulate(p, o).makespan() == makespan(s));
    if (graph.has_sizes()) continue;
    // Behind its warm-up a device runs a backward and a forward in turn, until no forward is left.
    for (auto const& order : s.order) {
      std::string kinds;
      for (timed_pass const t : each_pass(order)) kinds += t.what.kind == pass_kind::forward ? 'F' : 'B';
      std::size_t const ahead = kinds.find('B');
      for (std::size_t i = ahead; i < kinds.size(); ++i)
        CHECK(kinds[i] == (i < kinds.size() - ahead && (i - ahead) % 2 == 1 ? 'F' : 'B'));
    }
  }
}

TEST_CASE("a chain as a graph has the schedule and program of 1F1B") {
  FOR_SEEDS(60) {
    CAPTURE(seed);
    int const p = d.between(1, 8), m = d.between(1, 12);
    costs cost = random_costs(d, p);
    vary_machine(d, cost, p, false);
    schedule const line = retime(repeat(catalog::one_f_one_b(devices{p}), micro_batches{m}), cost);
    CHECK(catalog::one_f_one_b(chain(stages{p}), linear(devices{p}), micro_batches{m}, cost) == line);
    std::vector<int> operators;
    for (int s = 0; s < p; ++s) operators.push_back(s);
    operator_partition const cut = partitioned(chain(stages{p}), operators);
    CHECK(lower(catalog::one_f_one_b(cut.graph, linear(devices{p}), micro_batches{m}, cost))
          == lower(line));
  }
}

// Stages whose next ones are all on one device hand their output over once: what a chain of these
// devices sends.
TEST_CASE("a fan-out to one device sends as often as no fan-out") {
  FOR_SEEDS(60) {
    CAPTURE(seed);
    int const wide = d.between(1, 4), m = d.between(1, 4);
    std::vector<stage_edge> edges;
    std::vector<int> device{0};
    for (int s = 1; s <= wide; ++s) {
      edges.push_back({0, s});
      device.push_back(1);
    }
    program const p = lower(catalog::one_f_one_b(stage_graph(stages{wide + 1}, edges),
                                                 placement(devices{2}, {device}), micro_batches{m}));
    CHECK(check(p).ok());
    program const line =
        lower(catalog::one_f_one_b(chain(stages{2}), linear(devices{2}), micro_batches{m}));
    auto const sends = [](program const& of, int from) {
      int count = 0;
      for (instruction const& i : of.view().stream(from)) count += i.code == opcode::send;
      return count;
    };
    CHECK(sends(p, 0) == sends(line, 0));
    CHECK(sends(p, 1) == wide * sends(line, 1));  // gradients are summed where they arrive, in order
    if (wide == 1) CHECK(p == line);
  }
}

TEST_CASE("a program of any graph is proved, has as few slots as can be, and is simulated in time") {
  FOR_SEEDS(static_cast<unsigned>(random_cases(150))) {
    CAPTURE(seed);
    schedule const s = conformance::random_graph_schedule(seed);
    CHECK(check(s).ok());
    program const p = lower(s);
    CHECK(check(p).ok());
    schedule const timed = s.cost.passes.has_instants() ? without_instants(s) : s;
    live_values const values(timed);
    for (int device = 0; device < s.device_count(); ++device)
      for (int kind = 0; kind < slot_kinds; ++kind) {
        CAPTURE(kind);
        auto const which = static_cast<slot_kind>(kind);
        CHECK(count_slots(p.view(), device, which) == values.most(device, which));
      }
    simulation_options o;
    o.cost = s.cost;
    o.latency_holds_lane = false;
    CHECK(simulate(p, o).makespan() == makespan(s));
  }
}

// The list scheduler knows what passes need, not what stages form.
TEST_CASE("a search improves schedules of graphs, to their bound at best") {
  int shorter = 0;
  FOR_SEEDS(static_cast<unsigned>(random_cases(40))) {
    CAPTURE(seed);
    schedule const s = conformance::random_graph_schedule(seed);
    schedule const better = improve(s, {.passes = 20'000});
    CHECK(check(better).ok());
    CHECK(makespan(better) <= makespan(s));
    CHECK(peak_of_all(better) <= peak_of_all(s));
    CHECK(graph_bound(better).makespan <= makespan(better));
    shorter += makespan(better) < makespan(s);
  }
  CHECK(shorter > random_cases(40) / 4);
}

}  // namespace
