#include <ashlar/plan/training/amp.hpp>

namespace ashlar {

cut_costs amp_cut_costs(node_cluster const& cluster, std::vector<amp_layer> const& layers,
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

double stage_parameters(std::vector<amp_layer> const& layers, int first, int size) {
  double sum = 0;
  bool met = false;
  for (int i = first; i < first + size; ++i) {
    amp_layer const& l = nth(layers, i);
    if (!l.is_embedding || !met) sum += l.parameters;
    met = met || l.is_embedding;
  }
  return sum;
}

double amp_reduction_time(node_cluster const& cluster, std::vector<amp_layer> const& layers,
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

std::vector<int> amp_partition::sizes() {
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

amp_partition::state amp_partition::best(int stage, int end, double longest) {
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

}  // namespace ashlar
