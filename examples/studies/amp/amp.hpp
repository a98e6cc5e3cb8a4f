// The settings of AMP: their models, clusters and devices, and the cost of a plan in each.
#pragma once

#include "../csv.hpp"
#include "../formulas/transformer.hpp"
#include "measured_layers.hpp"
#include "model.hpp"
#include <ashlar/catalog/one_f_one_b.hpp>
#include <ashlar/plan/parts/partition.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/repeat.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace amp {

using namespace ashlar;
using json = nlohmann::json;

// Their two models. A layer that is no transformer and no embedding has no parameters.
constexpr double hidden = 1024, vocabulary = 52256, sequence = 1024;
constexpr double gan_volume = 81 * 1024;  // 9 x 9 tokens of 1024, 72 x 72 of 16
constexpr double device_bytes = 16e9;     // of a T4 as of a V100

using layer_times =
    std::map<std::pair<std::string, int>, std::vector<double>>;  // by profile and tensor size

inline layer_times read_times(std::string const& path) {
  layer_times all;
  for (systems::csv_row const& row : systems::read_csv(path))
    all[{row.at("profile"), std::stoi(row.at("tp"))}].push_back(
        std::stod(row.at("forward_s_per_sample")));
  return all;
}

// In the generative model only the first layer and the transformers are planned.
inline bool is_planned(bool gan, int layer) {
  return !gan || layer == 0 || (layer >= 3 && layer < 15) || (layer >= 41 && layer < 53);
}

class setting {
 public:
  setting(std::string name, json const& about, layer_times const& times)
      : name_(std::move(name)), times_(times), batch_(about.at("global_batch")) {
    cluster_.node_size = about.at("gpus_per_node");
    for (json const& pair : about.at("cluster_bandwidth_floats_per_s"))
      cluster_.nodes.push_back({.between = pair.at(0), .inside = pair.at(1)});
    if (name_ == "homogeneous")
      profiles_.assign(cluster_.nodes.size(), "gpt2_G4");
    else if (name_ == "het_model")
      profiles_.assign(cluster_.nodes.size(), "transgan_P3");
    else if (name_ == "het_cluster") {
      profiles_.assign(cluster_.nodes.size(), "gpt2_P3");
      profiles_.back() = "gpt2_G4";
    } else
      throw std::runtime_error("unknown setting " + name_);
  }

  bool is_gan() const { return name_ == "het_model"; }
  node_cluster const& cluster() const { return cluster_; }
  int before() const { return is_gan() ? 0 : 2; }
  int behind() const { return is_gan() ? 1 : 4; }

  amp_plan plan_of(int micro_batch, device_grid const& grid, std::vector<int> sizes = {}) const {
    return {.grid = grid,
            .micro_batch = micro_batch,
            .micro_batches = batch_ / (grid.data * micro_batch),
            .sizes = std::move(sizes)};
  }

  // The layers as AMP sees them: the mean of the nodes' devices.
  std::vector<amp_layer> layers(int tensor) const {
    std::vector<amp_layer> made;
    for (std::size_t i = 0; i < forward(profiles_[0], tensor).size(); ++i) {
      double sum = 0;
      for (std::string const& p : profiles_) sum += forward(p, tensor)[i];
      made.push_back(about(i, tensor));
      made.back().forward = sum / static_cast<double>(profiles_.size());
    }
    return made;
  }

  // The model as a simulation sees it, with each node's own devices. Messages are of 16-bit values, half
  // a unit each.
  measured_model model(int tensor) const {
    measured_model m;
    for (std::size_t n = 0; n < profiles_.size(); ++n) {
      std::vector<measured_layer> list;
      for (std::size_t i = 0; i < forward(profiles_[n], tensor).size(); ++i) {
        amp_layer const l = about(i, 1);
        // A layer sums its output over the ranks twice; each sum moves 2 (t - 1) / t of it.
        double const exchange = is_transformer(i) ? 2 * 2.0 * (tensor - 1) / tensor * l.output / 2 : 0;
        list.push_back({forward(profiles_[n], 1)[i], forward(profiles_[n], tensor)[i], exchange});
      }
      m.kinds.push_back(std::move(list));
      m.kind_of_node.push_back(n);
    }
    m.layers = layers(tensor);
    for (amp_layer& l : m.layers) l.output /= 2;
    return m;
  }

  double simulated(amp_plan const& plan) const {
    schedule const s =
        repeat(catalog::one_f_one_b(devices{plan.grid.pipeline}), micro_batches{plan.micro_batches});
    return simulated_step(s, stage_times(cluster_, model(plan.grid.tensor), plan),
                          message_mode::blocking);
  }

  // Bytes of the fullest device in 1F1B: weights, gradients and Adam; what layers keep; 16-bit logits
  // and their 32-bit gradient after the head.
  double bytes(amp_plan const& plan) const {
    memory_model m;
    m.stages.resize(plan.sizes.size());
    int at = 0;
    std::vector<amp_layer> const all = layers(plan.grid.tensor);
    for (std::size_t stage = 0; stage < plan.sizes.size(); ++stage) {
      double kept = 0;
      for (int i = at; i < at + plan.sizes[stage]; ++i)
        if (auto const l = static_cast<std::size_t>(i); is_transformer(l))
          kept += kept_bytes(shape(l, plan.grid.tensor), plan.micro_batch);
      m.stages[stage].stash = static_cast<byte_count>(kept);
      double own =
          stage_parameters(all, at, plan.sizes[stage]) / plan.grid.tensor * parameter_bytes{}.all();
      at += plan.sizes[stage];
      if (!is_gan() && stage + 1 == plan.sizes.size())
        own += plan.micro_batch * sequence * vocabulary * 6 / plan.grid.tensor;
      m.stages[stage].weights = static_cast<byte_count>(own);
    }
    schedule const s =
        repeat(catalog::one_f_one_b(devices{plan.grid.pipeline}), micro_batches{plan.micro_batches});
    std::vector<byte_count> const peaks = peak_memory(s, m);
    return static_cast<double>(*std::max_element(peaks.begin(), peaks.end()));
  }

  // The file counts all layers of the profile.
  std::vector<int> sizes_of_cuts(std::vector<int> const& cuts) const {
    std::vector<int> sizes;
    for (std::size_t i = 1; i < cuts.size(); ++i) {
      sizes.push_back(0);
      for (int l = cuts[i - 1]; l < cuts[i]; ++l) sizes.back() += is_planned(is_gan(), l) ? 1 : 0;
    }
    return sizes;
  }

 private:
  std::vector<double> forward(std::string const& profile, int tensor) const {
    auto const found = times_.find({profile, tensor});
    if (found == times_.end()) throw std::runtime_error("no times of " + profile);
    std::vector<double> made;
    for (std::size_t i = 0; i < found->second.size(); ++i)
      if (is_planned(is_gan(), static_cast<int>(i))) made.push_back(found->second[i]);
    return made;
  }
  bool is_transformer(std::size_t i) const { return is_gan() ? i > 0 : i >= 2 && i < 26; }
  split_layer shape(std::size_t i, int tensor) const {
    if (!is_gan()) return {hidden, 4 * hidden, 16, sequence, tensor};
    return i <= 12 ? split_layer{1024, 4096, 4, 81, tensor} : split_layer{16, 64, 4, 5184, tensor};
  }
  // Outputs in values of a sample; after the head each tensor rank has its share of the vocabulary.
  amp_layer about(std::size_t i, int tensor) const {
    amp_layer l{.output = is_gan() ? gan_volume
                          : i < 28 ? sequence * hidden
                                   : sequence * vocabulary / tensor};
    l.is_embedding = !is_gan() && (i == 0 || i == 28);
    if (l.is_embedding) l.parameters = hidden * vocabulary;
    if (is_transformer(i))
      l.parameters = transformer{.hidden = shape(i, 1).hidden, .feed_forward = shape(i, 1).feed_forward}
                         .layer_parameters();
    return l;
  }

  std::string name_;
  layer_times const& times_;
  int batch_;
  node_cluster cluster_;
  std::vector<std::string> profiles_;  // by node
};

}  // namespace amp
