// Compares breadth-first and depth-first pipelines, as in figures 2 to 4 of the breadth-first paper
// (Lamy-Poirier, Breadth-First Pipeline Parallelism, 2022): 8 devices, 64 layers, a backward (with its
// recomputation) of three forwards. Depth-first stops its passes for every transfer, as Megatron does.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/study/tradeoff.hpp>

#include <cstdio>

using namespace ashlar;

namespace {

struct rival {
  char const* label;
  char const* entry;
  bool blocks;
};

// Ticks are tenths of a layer's forward.
layered_model model(tick transfer, tick reduction = 0) {
  return {.layers = 64, .forward = 10, .backward = 30, .transfer = transfer, .reduction = reduction};
}

double share(rival const& r, layered_model const& of, int loops, int m) {
  // Depth-first of one loop is 1F1B.
  char const* const name = loops == 1 && r.blocks ? "1f1b" : r.entry;
  return utilisation(of, {catalog::find(name), devices{8}, chunks{loops}, micro_batches{m}, r.blocks});
}

constexpr rival rivals[] = {{"breadth-first", "breadth-first", false},
                            {"depth-first", "depth-first", true}};
constexpr int loop_counts[] = {1, 2, 4, 8};

}  // namespace

int main() {
  // More loops, smaller bubbles, more transfers. Slow transfers turn depth-first round.
  for (tick transfer : {2, 10}) {
    std::printf("Efficiency, 16 micro-batches, a transfer of %.1f forwards:\nloops          ",
                static_cast<double>(transfer) / 10);
    for (int loops : loop_counts) std::printf("%7d", loops);
    for (rival const& r : rivals) {
      std::printf("\n%-15s", r.label);
      for (int loops : loop_counts) std::printf("%7.3f", share(r, model(transfer), loops, 16));
    }
    std::printf("\n\n");
  }

  // A training on n devices: pipelines of 8 side by side, whose batches add up to more and more samples
  // beyond the critical batch. Each cluster takes the micro-batches and loops that cost least.
  layered_model const slow = model(2, 30);
  double const critical_batch = 2000;
  std::printf("Cost (1: nothing idle, no sample wasted) and training time:\n");
  std::printf("%-15s %7s %5s %15s %11s %6s %7s\n", "", "devices", "loops", "samples/device",
              "efficiency", "cost", "time");
  for (rival const& r : rivals)
    for (int device_count = 64; device_count <= 4096; device_count *= 4) {
      struct {
        int loops, m;
        double efficiency, cost;
      } best{0, 0, 0, 1e300};
      for (int loops : loop_counts)
        for (int m : {8, 16, 32, 64, 128}) {
          double const e = share(r, slow, loops, m);
          double const cost = training_cost(e, m / 8.0, device_count, critical_batch);
          if (cost < best.cost) best = {loops, m, e, cost};
        }
      std::printf("%-15s %7d %5d %15.0f %11.3f %6.3f %7.5f\n", r.label, device_count, best.loops,
                  best.m / 8.0, best.efficiency, best.cost, training_time(best.cost, device_count));
    }
}
