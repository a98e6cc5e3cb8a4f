// Compares RoundPipe with pipelines whose stages have devices, on eight GPUs that share a host.
//
// Prints Markdown: for models, the tasks that RoundPipe cuts; the work of a device; its time for a round
// of as many micro-batches as devices, in the steady state (the time that a further round takes), as
// schedule and in a simulation with copies of weights and gradients; then those of other schedules for a
// step of the same micro-batches, which keep all weights on their devices, and how many times as long
// the best takes. All recompute, as RoundPipe's authors let all systems do.
//
// A layer's forward takes 2 operations for each of its parameters and tokens at 120 TFLOP/s; attention's
// products are left out. Recompute and each half of a backward take as many. The head is a layer. A
// parameter has 2 bytes, its gradient 2; a message is 2 bytes for each token and hidden unit, and goes
// over the host. Links to the host have 24 GB/s each way.
//
// usage: bench_residency_round_pipe
#include <ashlar/catalog/entries.hpp>
#include <ashlar/catalog/round_pipe.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <vector>

using namespace ashlar;

namespace {

constexpr int p = 8;

// Qwen3, by its configurations (huggingface.co/Qwen): hidden units, layers, parameters of a layer and of
// the head, in millions; tokens of a micro-batch.
struct model {
  char const* name;
  int layers;
  double layer, head;
  int hidden, tokens;
};
constexpr model models[] = {
    {"Qwen3 1.7B", 28, 50.3, 311.2, 2048, 16384},
    {"Qwen3 4B", 36, 100.9, 389.0, 2560, 8192},
    {"Qwen3 8B", 36, 192.9, 622.3, 4096, 8192},
    {"Qwen3 32B", 64, 487.6, 777.9, 5120, 4096},
};

constexpr double ticks = 1e6;  // in a second
constexpr double speed = 120e12;
constexpr double host_bandwidth = 24e9;

double parameters_of(model const& m, int layer) { return 1e6 * (layer < m.layers ? m.layer : m.head); }

tick forward_of(model const& m, int layer) {
  return static_cast<tick>(2 * parameters_of(m, layer) * m.tokens / speed * ticks);
}

// Forwards, recomputes and backwards of consecutive layers.
stage_cost cost_of(model const& m, int first, int last) {
  tick sum = 0;
  for (int layer = first; layer < last; ++layer) sum += forward_of(m, layer);
  return {sum, sum, sum, sum};
}

costs costs_of(model const& m, std::vector<int> const& ends) {
  std::vector<stage_cost> all;
  int first = 0;
  for (int const end : ends) {
    all.push_back(cost_of(m, first, end));
    first = end;
  }
  costs made(all);
  return made;
}

// The ends of `count` stages of consecutive layers whose longest is shortest.
std::vector<int> even_cut(model const& m, int count) {
  int const layers = m.layers + 1;
  constexpr tick never = std::numeric_limits<tick>::max() / 4;
  std::vector<std::vector<tick>> best(static_cast<std::size_t>(count) + 1,
                                      std::vector<tick>(static_cast<std::size_t>(layers) + 1, never));
  std::vector<std::vector<int>> from(best.size(), std::vector<int>(best[0].size(), 0));
  best[0][0] = 0;
  for (std::size_t n = 1; n < best.size(); ++n)
    for (int end = 1; end <= layers; ++end)
      for (int begin = 0; begin < end; ++begin) {
        tick const longest =
            std::max(best[n - 1][static_cast<std::size_t>(begin)], cost_of(m, begin, end).forward);
        if (longest >= best[n][static_cast<std::size_t>(end)]) continue;
        best[n][static_cast<std::size_t>(end)] = longest;
        from[n][static_cast<std::size_t>(end)] = begin;
      }
  std::vector<int> ends;
  for (int n = count, end = layers; n > 0;
       end = from[static_cast<std::size_t>(n)][static_cast<std::size_t>(end)], --n)
    ends.push_back(end);
  std::reverse(ends.begin(), ends.end());
  return ends;
}

// The step of a schedule that keeps its stages on devices, with a recompute before each backward.
tick step_of(char const* name, model const& m, int micro, int v) {
  catalog::entry const& entry = *catalog::find(name);
  catalog::shape shape{.p = devices{p}, .m = micro_batches{micro}, .v = chunks{v}};
  int const stages = entry.make(shape).stage_count();
  if (stages > m.layers + 1) return 0;
  costs cost = costs_of(m, even_cut(m, stages));
  // A backward takes its recompute with it.
  std::vector<stage_cost> whole;
  for (int stage = 0; stage < stages; ++stage) {
    stage_cost const c = cost.passes.of(stage);
    whole.push_back({c.forward, c.backward_input + c.forward, c.backward_weight});
  }
  shape.cost = costs(whole);
  return makespan(entry.make(shape));
}

void print(model const& m) {
  catalog::round_pipe_layers layers;
  std::vector<stage_cost> each;
  simulation_options o;
  o.memory.stages.clear();
  for (int layer = 0; layer <= m.layers; ++layer) {
    stage_cost const c = cost_of(m, layer, layer + 1);
    each.push_back(c);
    layers.forwards.push_back(c.forward);
    layers.backwards.push_back(3 * c.forward);
    auto const bytes = static_cast<byte_count>(2 * parameters_of(m, layer));
    auto const message = static_cast<byte_count>(2.0 * m.tokens * m.hidden);
    stage_memory held{.weights = bytes};
    held.weight_gradient = bytes;
    held.activation = held.gradient = held.checkpoint = held.stash = message;
    o.memory.stages.push_back(held);
  }
  catalog::round_pipe_cut const cut = catalog::plan_round_pipe(layers, p);
  costs cost(each);
  auto const per_tick = static_cast<byte_count>(host_bandwidth / ticks);
  cost.on.host.speed = {.bandwidth = per_tick};
  cost.on.links.inside = {.bandwidth = per_tick / 2};  // out and in, one after the other
  o.cost = cost;
  cost = schedule_costs(o);  // with the size of messages
  o.shards = shard_home::host;
  // After as many rounds as devices, tasks meet the same devices again.
  auto const round = [&](auto time_of) { return (time_of(1 + p) - time_of(1)) / p; };
  tick const scheduled = round([&](int n) {
    return makespan(catalog::round_pipe(devices{p}, micro_batches{p}, cut, costs(each), n));
  });
  tick const simulated = round([&](int n) {
    schedule const s = catalog::round_pipe(devices{p}, micro_batches{p}, cut, cost, n);
    program const low =
        lower(s, {.lanes = transfer_lanes::one_a_direction,
                  .sharding = sharding_level::weights,
                  .weight_buffers = catalog::most_layers(cut),
                  .weights = catalog::round_pipe_residency(devices{p}, micro_batches{p}, cut, n)});
    return simulate(low, o).makespan();
  });
  tick work = 0;  // of a device, if all had the same
  for (tick const t : busy(catalog::round_pipe(devices{p}, micro_batches{p}, cut, costs(each))))
    work += t / p;
  tick const others[] = {step_of("gpipe", m, p, 1), step_of("1f1b", m, p, 1),
                         step_of("depth-first", m, p, 2), step_of("breadth-first", m, p, 2)};
  tick best = 0;
  for (tick const t : others)
    if (t > 0 && (best == 0 || t < best)) best = t;
  auto const ms = [](tick t) { return static_cast<double>(t) / 1e3; };
  std::printf("| %s | %zu + %zu | %.0f | %.0f | %.0f |", m.name, cut.forwards.size(),
              cut.backwards.size(), ms(work), ms(scheduled), ms(simulated));
  for (tick const t : others) t > 0 ? std::printf(" %.0f |", ms(t)) : std::printf(" – |");
  std::printf(" %.2f, %.2f |\n", static_cast<double>(best) / static_cast<double>(scheduled),
              static_cast<double>(best) / static_cast<double>(simulated));
}

}  // namespace

int main() {
  for (model const& m : models) print(m);
}
