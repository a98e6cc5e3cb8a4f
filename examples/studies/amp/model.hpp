// AMP's cost model of a plan, and its choice of stages. Li, Wang, Xie, Gonzalez, Stoica: AMP:
// Automatically Finding Model Parallel Strategies with Heterogeneity Awareness (2022), section 3.
// Differences of their code from the paper have names here, so that their predictions can be reproduced.
#pragma once

#include "device_grid.hpp"
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/plan/parts/partition.hpp>

#include <cstddef>
#include <vector>

namespace amp {

using namespace ashlar;

// One layer, split over the tensor ranks. Its backward takes twice its forward, so it has no
// pass_seconds.
struct amp_layer {
  double forward = 0;         // seconds per sample
  double output = 0;          // units of data per sample that a tensor rank sends on
  double parameters = 0;      // units of data, of all tensor ranks
  bool is_embedding = false;  // several in one stage share their parameters
};

// A plan in AMP's terms.
struct amp_plan {
  device_grid grid;
  int micro_batch = 1;  // samples
  int micro_batches = 1;
  std::vector<int> sizes;  // layers of each stage
};

// Differences of the authors' code from their paper.
enum class amp_bugs : unsigned char {
  none,
  published,  // a ring is as fast as its last link; the partition chooses a cut by its cost, but does
              // not add that cost to its total
};

// Costs of cuts and layers. A backward takes twice a forward. A message between stages takes the slowest
// of the tensor ranks' links, on the mean of the data ranks; activations count once, their gradients do
// not.
inline cut_costs amp_cut_costs(node_cluster const& cluster, std::vector<amp_layer> const& layers,
                               amp_plan const& plan) {
  cut_costs c;
  c.repeats = plan.micro_batches - 1.0;
  for (amp_layer const& l : layers) {
    c.layer.push_back(3 * l.forward * plan.micro_batch);
    c.volume.push_back(l.output * plan.micro_batch);
  }
  device_grid const& g = plan.grid;
  for (int stage = 0; stage + 1 < g.pipeline; ++stage) {
    double sum = 0;
    for (int d = 0; d < g.data; ++d) {
      double slowest = 0;
      for (int t = 0; t < g.tensor; ++t)
        slowest = max_of(slowest, 1 / cluster.link(g.device(stage, d, t), g.device(stage + 1, d, t)));
      sum += slowest;
    }
    c.link.push_back(sum / g.data);
  }
  return c;
}

// Parameters of a stage. Several embeddings of one stage count once.
inline double stage_parameters(std::vector<amp_layer> const& layers, int first, int size) {
  double sum = 0;
  bool met = false;
  for (int i = first; i < first + size; ++i) {
    amp_layer const& l = nth(layers, i);
    if (!l.is_embedding || !met) sum += l.parameters;
    met = met || l.is_embedding;
  }
  return sum;
}

// Seconds of the slowest ring that sums gradients.
inline double amp_reduction_time(node_cluster const& cluster, std::vector<amp_layer> const& layers,
                                 amp_plan const& plan, amp_bugs bugs) {
  device_grid const& g = plan.grid;
  double longest = 0;
  if (g.data < 2) return longest;
  int first = 0;
  for (int stage = 0; stage < g.pipeline; ++stage) {
    int const size = nth(plan.sizes, stage);
    double const parameters = stage_parameters(layers, first, size) / g.tensor;
    first += size;
    for (int t = 0; t < g.tensor; ++t) {
      double speed = 0;
      for (int d = 0; d < g.data; ++d) {
        double const link = cluster.link(g.device(stage, d, t), g.device(stage, (d + 1) % g.data, t));
        speed = d == 0 || bugs == amp_bugs::published || link < speed ? link : speed;
      }
      longest = max_of(longest, 2.0 * (g.data - 1) / (g.data * speed) * parameters);
    }
  }
  return longest;
}

// Seconds of a step: (B - 1) times the longest stage, the cuts, all layers, and the longest reduction.
inline double amp_step_time(node_cluster const& cluster, std::vector<amp_layer> const& layers,
                            amp_plan const& plan, amp_bugs bugs = amp_bugs::none) {
  return pipeline_time(amp_cut_costs(cluster, layers, plan), plan.sizes)
         + amp_reduction_time(cluster, layers, plan, bugs);
}

// The authors' dynamic program over (layers, stages, longest later stage), with its bug: it chooses a
// cut including the cut's cost, but passes on the value without it, so earlier choices ignore the cost
// of later cuts. Reached states only: at most O(p n^3) of them, each of n cuts.
class amp_partition {
 public:
  // Refers to the costs.
  amp_partition(cut_costs const& c, int stage_count)
      : c_(c), n_(static_cast<int>(c.layer.size())), stage_count_(stage_count) {
    for (double each : c.layer) until_.push_back(until_.back() + each);
    states_.resize(static_cast<std::size_t>(stage_count * n_));
  }

  std::vector<int> sizes();

 private:
  struct state {
    double longest = 0;  // longest stage after this one, an input of the state
    double value = 0;
    int cut = 0;  // start of its last stage
  };

  double sum(int from, int to) const { return nth(until_, to) - nth(until_, from); }
  double excess(int cut, int end, double longest) const {
    return c_.repeats * max_of(0.0, sum(cut, end) - longest);
  }

  state best(int stage, int end, double longest);

  cut_costs const& c_;
  int n_;
  int stage_count_;
  std::vector<double> until_ = std::vector<double>(1, 0.0);
  std::vector<std::vector<state>> states_;  // by stage and layers
};

inline std::vector<int> amp_partition::sizes() {
  std::vector<int> made;
  double longest = 0;
  for (int stage = stage_count_ - 1, end = n_; stage >= 0; --stage) {
    int const cut = stage == 0 ? 0 : best(stage, end, longest).cut;
    longest = max_of(longest, sum(cut, end));
    made.push_back(end - cut);
    end = cut;
  }
  reverse(made);
  return made;
}

inline amp_partition::state amp_partition::best(int stage, int end, double longest) {
  if (stage == 0) return {longest, excess(0, end, longest), 0};
  auto const index = static_cast<std::size_t>(stage * n_ + end - 1);
  for (state const& known : states_[index])
    if (!(known.longest < longest) && !(longest < known.longest)) return known;
  state found{longest, 0, 0};
  for (int cut = stage; cut < end; ++cut) {
    double const value =
        best(stage - 1, cut, max_of(longest, sum(cut, end))).value + excess(cut, end, longest);
    double const cost = nth(c_.volume, cut - 1) * nth(c_.link, stage - 1);
    if (found.cut != 0 && !(value + cost < found.value)) continue;
    found.value = value;
    found.cut = cut;
  }
  states_[index].push_back(found);
  return found;
}

}  // namespace amp
