#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/plan/training/listed_layers.hpp>

#include <cstddef>

namespace ashlar {

double listed_model::parameters() const {
  double sum = 0;
  for (listed_layer const& each : layers) sum += each.parameters;
  return sum * tensor;
}

double listed_model::work() const {
  double sum = 0;
  for (listed_layer const& each : layers) sum += each.passes.both();
  return sum * tensor;
}

pass_seconds attention_seconds(listed_layer const& each, training_layout const& l, causal_share share) {
  double const forward = share.forward / 100.0 * l.micro_batch * each.passes.forward,
               backward = share.backward_input / 100.0 * l.micro_batch * each.passes.backward / 2;
  return {forward, backward + (l.again == recomputation::full ? forward : 0)};
}

std::vector<stage_seconds> stage_times(listed_model const& t, training_layout const& l,
                                       sharding_level level, std::vector<int> const& sizes,
                                       device_machine const& machine) {
  std::vector<stage_seconds> made;
  double const link = outer_link(l, machine);
  std::size_t at = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    stage_seconds s;
    double parameters = 0, largest = 0;
    for (int n = 0; n < sizes[i]; ++n) {
      listed_layer const& each = t.layers[at++];
      s.passes += layer_seconds(each, l);
      s.attention += attention_seconds(each, l, t.causal);
      parameters += each.parameters;
      largest = max_of(largest, each.parameters);
      if (i + 1 < sizes.size()) s.send = l.micro_batch * each.output / link;
    }
    share_parameters(s, {parameters, largest}, link, {level, l.data}, {});
    made.push_back(s);
  }
  return made;
}

memory_model stage_bytes(listed_model const& t, training_layout const& l, sharding_level level,
                         std::vector<int> const& sizes) {
  memory_model made;
  made.stages.resize(sizes.size());
  std::size_t at = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    double parameters = 0, largest = 0, kept = 0, whole = 0;
    for (int n = 0; n < sizes[i]; ++n) {
      listed_layer const& each = t.layers[at++];
      bool const again = l.again == recomputation::full;
      parameters += each.parameters;
      largest = max_of(largest, each.parameters);
      kept += l.micro_batch * (again ? each.output : each.kept);
      if (again) whole = max_of(whole, l.micro_batch * each.kept);
    }
    stage_memory& m = made.stages[i];
    m = kept_parameters(parameters, largest, {}, {level, l.data});
    m.weights += whole_bytes(whole);
    m.stash = whole_bytes(kept);
  }
  return made;
}

}  // namespace ashlar
