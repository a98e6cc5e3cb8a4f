// Simulates a step on two nodes of four devices, with fast links inside a node and slow ones between. It
// shows where the time goes, and which chain of passes and transfers makes the step as long as it is.
#include <ashlar/ashlar.hpp>
#include <ashlar/catalog.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/simulate.hpp>

#include <cstdio>

using namespace ashlar;

namespace {

// Ticks are microseconds: a device's share of the model takes 1.2 ms forward and 2.4 ms backward. An
// activation has 8 MiB; links move 200 GB/s in a node and 25 GB/s between nodes. `pieces` stages a
// device.
simulation_options cluster(costs const& cost, int pieces) {
  byte_count const megabyte = 1 << 20;
  simulation_options o;
  o.cost = cost;
  o.cost.on.links.inside = {.latency = 3, .bandwidth = 200'000};
  o.cost.on.links.between = {.latency = 8, .bandwidth = 25'000};
  o.cost.on.links.node_size = 4;
  o.cost.on.collective = o.cost.on.links.between;
  o.memory.stages = {{.weights = 256 * megabyte / pieces,
                      .optimizer_state = 768 * megabyte / pieces,
                      .weight_gradient = 256 * megabyte / pieces,
                      .activation = 8 * megabyte,
                      .gradient = 8 * megabyte,
                      .checkpoint = 0,
                      .stash = 640 * megabyte / pieces,
                      .weight_stash = 160 * megabyte / pieces}};
  return o;
}

void print(program const& p, path_step const& s) {
  instruction const& i = p.instructions[static_cast<std::size_t>(s.index)];
  std::printf("  %6d to %6d  %s\n", static_cast<int>(s.from), static_cast<int>(s.until),
              to_string(i).c_str());
}

}  // namespace

int main() {
  std::printf("%-12s %7s | %6s %7s %7s %6s %9s | %6s %13s | %s\n", "", "step", "passes", "exposed",
              "warm-up", "steady", "cool-down", "passes", "communication", "GB");
  for (char const* name : {"1f1b", "zb-h1", "depth-first", "v-half", "v-zb", "chimera"}) {
    catalog::entry const& e = *catalog::find(name);
    // A device computes as much for any number of chunks.
    catalog::shape shape{.p = devices{8}, .m = micro_batches{16}};
    int const pieces = e.make(shape).stage_count() / 8;
    tick const part = 1200 / pieces;
    shape.cost = costs(stage_cost{part, part, part});
    program const p = lower(e.make(shape));
    simulation const r = simulate(p, cluster(shape.cost, pieces));

    tick computing = 0;
    for (path_step const& s : r.critical)
      if (p.instructions[static_cast<std::size_t>(s.index)].code == opcode::compute)
        computing += s.until - s.from;
    byte_count peak = 0;
    for (device_memory const& d : r.memory) peak = d.peak > peak ? d.peak : peak;
    device_usage const& first = r.usage[0];
    auto const us = [](tick t) { return static_cast<int>(t); };
    std::printf("%-12s %7d | %6d %7d %7d %6d %9d | %6d %13d | %.1f\n", name, us(r.makespan()),
                us(first.busy), us(first.exposed), us(first.warm_up), us(first.steady),
                us(first.cool_down), us(computing), us(r.makespan() - computing),
                static_cast<double>(peak) / 1e9);
  }
  std::printf("in us: the step | device 0's time | the critical path | the fullest device's memory\n");

  schedule const s = catalog::one_f_one_b(devices{8}) | repeat(micro_batches{2})
                     | retime(costs(stage_cost{1200, 1200, 1200}));
  program const p = lower(s);
  simulation const r = simulate(p, cluster(s.cost, 1));
  std::printf("\nThe critical path of 1F1B with two micro-batches, over the nodes' border and back:\n");
  for (path_step const& step : r.critical) print(p, step);
}
