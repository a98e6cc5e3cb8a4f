// AMP's cost model of a plan, and its choice of stages. Li, Wang, Xie, Gonzalez, Stoica: AMP:
// Automatically Finding Model Parallel Strategies with Heterogeneity Awareness (2022), section 3. Where
// their code differs from the paper, it is here by name, so that their predictions can be reproduced.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/plan/device_grid.hpp>
#include <ashlar/plan/partition.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// One layer, split over the tensor ranks.
struct amp_layer {
  double forward = 0;         // seconds of a sample
  double output = 0;          // units of data of a sample that a tensor rank hands on
  double parameters = 0;      // units of data, of all tensor ranks
  bool is_embedding = false;  // several in one stage share their parameters
};

struct amp_plan {
  device_grid grid;
  int micro_batch = 1;  // samples
  int micro_batches = 1;
  std::vector<int> sizes;  // layers of each stage
};

// What the authors' code does and the paper does not say.
enum class amp_slips : unsigned char {
  none,
  published,  // a ring is as fast as its last link; the partition weighs a cut's cost, but forgets it
              // then
};

// A backward takes twice a forward. Between stages a message takes the slowest of the tensor ranks'
// links, on the mean of the data ranks; activations count once, their gradients not.
constexpr cut_costs amp_cut_costs(node_cluster const& cluster, std::vector<amp_layer> const& layers,
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

// Parameters of a stage: embeddings of one stage count once.
constexpr double stage_parameters(std::vector<amp_layer> const& layers, int first, int size) {
  double sum = 0;
  bool met = false;
  for (int i = first; i < first + size; ++i) {
    amp_layer const& l = nth(layers, i);
    if (!l.is_embedding || !met) sum += l.parameters;
    met = met || l.is_embedding;
  }
  return sum;
}

// Seconds of the longest of the rings that sum gradients.
constexpr double amp_reduction_time(node_cluster const& cluster, std::vector<amp_layer> const& layers,
                                    amp_plan const& plan, amp_slips slips) {
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
        speed = d == 0 || slips == amp_slips::published || link < speed ? link : speed;
      }
      longest = max_of(longest, 2.0 * (g.data - 1) / (g.data * speed) * parameters);
    }
  }
  return longest;
}

// Seconds of a step: (B - 1) times the longest stage, the cuts, all layers, and the longest reduction.
constexpr double amp_step_time(node_cluster const& cluster, std::vector<amp_layer> const& layers,
                               amp_plan const& plan, amp_slips slips = amp_slips::none) {
  return pipeline_time(amp_cut_costs(cluster, layers, plan), plan.sizes)
         + amp_reduction_time(cluster, layers, plan, slips);
}

// The authors' dynamic programme over (layers, stages, longest stage behind). With its slip: it chooses
// a cut with the cut's cost, but hands on the value without it, so that cuts further in front are not
// seen from behind. Reached states only: at most O(p n^3) of them, each of n cuts.
class amp_partition {
 public:
  // Refers to it.
  constexpr amp_partition(cut_costs const& c, int stage_count)
      : c_(c), n_(static_cast<int>(c.layer.size())), stage_count_(stage_count) {
    for (double each : c.layer) until_.push_back(until_.back() + each);
    states_.resize(static_cast<std::size_t>(stage_count * n_));
  }

  constexpr std::vector<int> sizes() {
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

 private:
  struct state {
    double longest = 0;  // of the stages after: what this one is asked for
    double value = 0;
    int cut = 0;  // where its last stage begins
  };

  constexpr double sum(int from, int to) const { return nth(until_, to) - nth(until_, from); }
  constexpr double excess(int cut, int end, double longest) const {
    return c_.repeats * max_of(0.0, sum(cut, end) - longest);
  }

  constexpr state best(int stage, int end, double longest) {
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

  cut_costs const& c_;
  int n_;
  int stage_count_;
  std::vector<double> until_ = std::vector<double>(1, 0.0);
  std::vector<std::vector<state>> states_;  // by stage and layers
};

}  // namespace ashlar
