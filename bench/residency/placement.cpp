// Compares plans of residency for pipelines whose weights are sharded over data-parallel ranks: that of
// PyTorch's rule, which keeps three stages, with the chosen ones.
//
// Prints Markdown: for four models on three links, how long gathering a stage takes beside its forward,
// the simulated step by PyTorch's rule, and by how much the step is shorter with a plan of at most three
// stages, and with any plan whose peak is at most that of PyTorch's rule on its fullest device; then the
// gathers of all three, and their peaks.
//
// A layer's forward takes 2 operations for each active parameter and token at 400 TFLOP/s, each part of
// its backward as many; attention's products are left out. It keeps 34 bytes for each token and hidden
// unit (Korthikanti et al., 2022), in tensor-parallel shards. A parameter takes 2 bytes where it is
// whole, 4 for its gradient, which is whole, and 14 in the shard. Interleaved 1F1B; a gather and a
// scatter are rings; messages between stages have the same links.
//
// usage: bench_residency_placement
#include <ashlar/catalog/entries.hpp>
#include <ashlar/search/residency.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

using namespace ashlar;

namespace {

// Sizes of published models; parameters in millions.
struct model {
  char const* name;
  int layers;
  double layer, active;  // all parameters of a layer, and those that a token uses
  double embedding;      // as many in the head
  int hidden;
  int tensor, p, v, m, ranks, tokens;
};
constexpr model models[] = {
    {"Llama 3 8B", 32, 218, 218, 525, 4096, 1, 4, 4, 16, 8, 8192},
    {"Llama 3 70B", 80, 856, 856, 1051, 8192, 4, 4, 5, 16, 16, 8192},
    {"Llama 3 405B", 126, 3188, 3188, 2101, 16384, 8, 8, 4, 32, 16, 8192},
    {"Mixtral 8x22B", 56, 2507, 693, 201, 6144, 8, 4, 7, 16, 8, 16384},
};

struct network {
  char const* name;
  double gigabytes;  // a second, of each device
};
constexpr network networks[] = {
    {"NVLink, 300 GB/s", 300}, {"400 Gb/s a device", 50}, {"400 Gb/s for eight", 6.25}};

constexpr double ticks = 1e6;  // in a second
constexpr byte_count device_memory_size = 141'000'000'000;

schedule schedule_of(model const& of, simulation_options& o) {
  int const stage_count = of.p * of.v;
  std::vector<stage_cost> costs;
  o.memory.stages.clear();
  for (int stage = 0; stage < stage_count; ++stage) {
    int const layers = of.layers * (stage + 1) / stage_count - of.layers * stage / stage_count;
    bool const first = stage == 0, last = stage == stage_count - 1;
    double const all = (layers * of.layer + (first || last ? of.embedding : 0)) * 1e6 / of.tensor;
    double const used = (layers * of.active + (last ? of.embedding : 0)) * 1e6 / of.tensor;
    auto const pass = static_cast<tick>(std::lround(2 * used * of.tokens / 400e12 * ticks));
    costs.push_back({pass, pass, pass});
    auto const size = static_cast<byte_count>(all);
    o.memory.stages.push_back({.weights = 2 * size,
                               .optimizer_state = 12 * size,
                               .weight_gradient = 4 * size,
                               .activation = byte_count{2} * of.tokens * of.hidden / of.tensor,
                               .gradient = byte_count{2} * of.tokens * of.hidden / of.tensor,
                               .stash = byte_count{34} * layers * of.tokens * of.hidden / of.tensor});
  }
  o.cost.passes = pass_costs(costs);
  return catalog::find("depth-first")
      ->make(
          {.p = devices{of.p}, .m = micro_batches{of.m}, .cost = schedule_costs(o), .v = chunks{of.v}});
}

}  // namespace

int main() {
  std::puts(
      "| model | devices, chunks, ranks | link | gather / forward | PyTorch's rule, ms | 3 stages, % "
      "| same peak, % | 141 GB, % | gathers | peaks, GB |");
  std::puts("|---|---|---|---:|---:|---:|---:|---:|---|---|");
  for (model const& of : models)
    for (network const& n : networks) {
      simulation_options o;
      auto const bandwidth = static_cast<byte_count>(n.gigabytes * 1e9 / ticks);
      o.cost.on.links.inside = o.cost.on.links.between = o.cost.on.collective = {10, bandwidth, 1};
      schedule const s = schedule_of(of, o);
      lower_options const how{.data_ranks = of.ranks, .sharding = sharding_level::weights};
      auto const most = [](residency_choice const& c) {
        return *std::max_element(c.peak.begin(), c.peak.end());
      };
      residency_choice const window =
          simulated_residency(s, how, o, planned_residency(s, {.stages = 3, .lookahead = 3}));
      std::vector<residency_choice> const chosen{
          choose_residency(s, how, o, {.stages = 3}),
          choose_residency(s, how, o, {.stages = of.v, .budgets = {most(window)}}),
          choose_residency(s, how, o, {.stages = of.v, .budgets = {device_memory_size}})};
      tick const gather = half_ring_time(o.cost.on.collective, o.memory.stages[1].weights, of.ranks);
      std::printf("| %s | %d, %d, %d | %s | %.1f | %.1f |", of.name, of.p, of.v, of.ranks, n.name,
                  static_cast<double>(gather) / static_cast<double>(o.cost.passes.of(1, 0).forward),
                  static_cast<double>(window.makespan) / ticks * 1e3);
      for (residency_choice const& c : chosen)
        std::printf(" %.1f |",
                    100 * (1 - static_cast<double>(c.makespan) / static_cast<double>(window.makespan)));
      std::printf(" %zu", window.weights.gather_count());
      for (residency_choice const& c : chosen) std::printf(", %zu", c.weights.gather_count());
      std::printf(" | %.1f", static_cast<double>(most(window)) / 1e9);
      for (residency_choice const& c : chosen) std::printf(", %.1f", static_cast<double>(most(c)) / 1e9);
      std::puts(" |");
    }
  return 0;
}
