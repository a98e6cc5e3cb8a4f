// AMP (Li et al., 2022): its predictions with what its code does otherwise, the exact partition, and a
// ranking by simulation, on layer times and runs from DATA_DIR/layer_forward_s.csv and
// DATA_DIR/SETTING_trials.csv.
#include "csv.hpp"
#include "rank.hpp"
#include "report.hpp"
#include <ashlar/catalog/one_f_one_b.hpp>
#include <ashlar/plan.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/repeat.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace ashlar;
using systems::report;
using json = nlohmann::json;

// Their two models. A layer that is no transformer and no embedding has no parameters.
constexpr double hidden = 1024, vocabulary = 52256, sequence = 1024;
constexpr double gan_volume = 81 * 1024;  // 9 x 9 tokens of 1024, 72 x 72 of 16
constexpr double device_bytes = 16e9;     // of a T4 as of a V100

using layer_times =
    std::map<std::pair<std::string, int>, std::vector<double>>;  // by profile and tensor size

layer_times read_times(std::string const& path) {
  layer_times all;
  for (systems::csv_row const& row : systems::read_csv(path))
    all[{row.at("profile"), std::stoi(row.at("tp"))}].push_back(
        std::stod(row.at("forward_s_per_sample")));
  return all;
}

// Of the generative model only the first layer and the transformers are planned.
bool is_planned(bool gan, int layer) {
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

  // As AMP sees them: the mean of the nodes' devices.
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

  // As a simulation sees them: of each node's own devices. Messages are of 16-bit values, half a unit
  // each.
  measured_model model(int tensor) const {
    measured_model m;
    for (std::size_t n = 0; n < profiles_.size(); ++n) {
      std::vector<measured_layer> list;
      for (std::size_t i = 0; i < forward(profiles_[n], tensor).size(); ++i) {
        amp_layer const l = about(i, 1);
        // Two sums of the layer's output over the ranks, each of which moves 2 (t - 1) / t of it.
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

  // Of the device that holds most, in 1F1B: weights, gradients and Adam; what layers keep; 16-bit logits
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

// A single micro-batch is not worth AMP's search: it deals the layers out alike.
std::vector<int> published_sizes(setting const& s, cut_costs const& costs, amp_plan const& plan) {
  int const n = static_cast<int>(costs.layer.size()), p = plan.grid.pipeline;
  if (plan.micro_batches == 1) return uniform_partition(n, p, s.before(), s.behind());
  return amp_partition(costs, p).sizes();
}

void check_row(report& r, std::string const& what, setting const& s, json const& row) {
  amp_plan plan = s.plan_of(row.at("micro_batch"), {row.at("tp"), row.at("dp"), row.at("pp")});
  r.same(what + " micro-batches", plan.micro_batches, row.at("num_micro_batches").get<int>());
  std::vector<amp_layer> const layers = s.layers(plan.grid.tensor);
  cut_costs const costs = amp_cut_costs(s.cluster(), layers, plan);
  plan.sizes = published_sizes(s, costs, plan);
  r.same(what + " stages of AMP", json(plan.sizes), row.at("amp_stage_sizes"));
  double const predicted = amp_step_time(s.cluster(), layers, plan, amp_slips::published);
  r.near(what + " predicted", predicted, row.at("amp_predicted_s"), 0, 5e-5);
  r.near(what + " derived again", predicted, row.at("rederived_s"), 0, 1e-6);
  r.near(what + " reduction", amp_reduction_time(s.cluster(), layers, plan, amp_slips::published),
         row.at("dp_allreduce_s"), 0, 1e-6);
  double const theirs = pipeline_time(costs, plan.sizes);
  double const best = pipeline_time(costs, best_partition(costs, plan.grid.pipeline));
  r.near(what + " pipeline of AMP", theirs, row.at("amp_pipe_s"), 0, 1e-6);
  r.near(what + " best pipeline", best, row.at("exact_pipe_s"), 0, 1e-6);
  r.holds(what + " is never worse than AMP's", best <= theirs * (1 + 1e-12));
}

// Of all settings together.
struct tally {
  int settings = 0, near_best = 0, failed = 0, flagged = 0, false_alarms = 0;
};

void rank_runs(report& r, std::string const& name, setting const& s, std::string const& path,
               tally& sum) {
  std::vector<double> measured, theirs, ours, all;
  double ours_of_best = 0, fastest = HUGE_VAL;
  for (systems::csv_row const& row : systems::read_csv(path)) {
    std::vector<int> cuts;
    std::istringstream text(row.at("stage_cuts"));
    for (int cut = 0; text >> cut;) cuts.push_back(cut);
    amp_plan const plan =
        s.plan_of(std::stoi(row.at("micro_batch")),
                  {std::stoi(row.at("tp")), std::stoi(row.at("dp")), std::stoi(row.at("pp"))},
                  s.sizes_of_cuts(cuts));
    std::string const what = name + " run " + row.at("rank");
    std::vector<amp_layer> const layers = s.layers(plan.grid.tensor);
    cut_costs const costs = amp_cut_costs(s.cluster(), layers, plan);
    r.same(what + " stages", json(published_sizes(s, costs, plan)), json(plan.sizes));
    r.near(what + " predicted", amp_step_time(s.cluster(), layers, plan, amp_slips::published),
           std::stod(row.at("predicted_s")), 0, 5e-5);
    r.holds(what + " best partition", pipeline_time(costs, best_partition(costs, plan.grid.pipeline))
                                          <= pipeline_time(costs, plan.sizes) * (1 + 1e-12));
    double const time = s.simulated(plan);
    all.push_back(time);
    if (row.at("measured_s").empty()) continue;  // not run
    bool const flagged = s.bytes(plan) > device_bytes;
    if (row.at("measured_s") == "inf") {
      ++sum.failed;
      sum.flagged += flagged;
      continue;
    }
    sum.false_alarms += flagged;
    measured.push_back(std::stod(row.at("measured_s")));
    theirs.push_back(std::stod(row.at("predicted_s")));
    ours.push_back(time);
    if (measured.back() < fastest) ours_of_best = time;
    fastest = std::min(fastest, measured.back());
  }
  auto const first = static_cast<std::size_t>(std::min_element(ours.begin(), ours.end()) - ours.begin());
  double const regret = measured[first] / fastest - 1;
  auto const place = std::count_if(all.begin(), all.end(), [&](double t) { return t < ours_of_best; });
  double const amp = systems::rank_correlation(theirs, measured),
               own = systems::rank_correlation(ours, measured);
  std::printf(
      "%s: %zu measured runs, rank correlation %.3f (AMP %.3f), regret of the first choice %.1f %%, "
      "best measured in place %d\n",
      name.c_str(), measured.size(), own, amp, regret * 100, static_cast<int>(place) + 1);
  r.holds(name + ": simulation ranks better than AMP", own > amp && own >= 0.7);
  r.holds(name + ": the best measured plan is among the first ten", place < 10);
  ++sum.settings;
  sum.near_best += regret <= 0.05;
}

}  // namespace

int main(int argc, char** argv) {
  return systems::run(argc, argv, [](json const& gold, std::string const& data, report& r) {
    if (data.empty()) throw std::runtime_error("the layer times are in DATA_DIR, the second argument");
    layer_times const times = read_times(data + "/layer_forward_s.csv");
    tally sum;
    for (auto const& [name, about] : gold.at("settings").items()) {
      setting const s(name, about, times);
      for (json const& row : about.at("rows"))
        check_row(r, name + " plan " + row.at("rank").dump(), s, row);
      rank_runs(r, name, s, data + "/" + name + "_trials.csv", sum);
    }
    std::printf("out of memory: %d of %d failed runs flagged, %d false alarms\n", sum.flagged,
                sum.failed, sum.false_alarms);
    r.holds("the first choice is within 5 % of the best in most settings",
            3 * sum.near_best >= 2 * sum.settings);
    r.holds("half of the failed runs are flagged", 2 * sum.flagged >= sum.failed);
    r.holds("at most three false alarms", sum.false_alarms <= 3);
  });
}
