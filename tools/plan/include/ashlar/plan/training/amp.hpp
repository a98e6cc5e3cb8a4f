// AMP's cost model of a plan, and its choice of stages. Li, Wang, Xie, Gonzalez, Stoica: AMP:
// Automatically Finding Model Parallel Strategies with Heterogeneity Awareness (2022), section 3.
// Differences of their code from the paper have names here, so that their predictions can be reproduced.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/plan/training/device_grid.hpp>
#include <ashlar/plan/training/partition.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

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
cut_costs amp_cut_costs(node_cluster const& cluster, std::vector<amp_layer> const& layers,
                        amp_plan const& plan);

// Parameters of a stage. Several embeddings of one stage count once.
double stage_parameters(std::vector<amp_layer> const& layers, int first, int size);

// Seconds of the slowest ring that sums gradients.
double amp_reduction_time(node_cluster const& cluster, std::vector<amp_layer> const& layers,
                          amp_plan const& plan, amp_bugs bugs);

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

}  // namespace ashlar
