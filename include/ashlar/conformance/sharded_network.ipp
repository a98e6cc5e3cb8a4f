// Definitions of sharded_network.hpp.
#pragma once

#include <ashlar/conformance/sharded_network.hpp>
#include <ashlar/core/compiled.hpp>

namespace ashlar::conformance {

ASHLAR_INLINE sharded_network::sharded_network(program const& p, int rank)
    : network(p),
      stages_(static_cast<std::size_t>(p.stage_count())),
      part_(shard_of(sizeof(matrix), rank, p.data_ranks)),
      sharded_(p.sharding != sharding_level::none),
      gradients_(static_cast<std::size_t>(p.groups.count())),
      steps_(gradients_.size(), 0),
      steps_before_(steps_) {
  first_micro_batch = rank * p.micro_batch_count();
}

ASHLAR_INLINE std::vector<double> sharded_network::results() const {
  std::vector<double> all = network::results();
  all.push_back(norm());
  for (std::size_t s = 0; s < gradients_.size(); ++s) {
    std::vector<double> g = gradients_[s];
    if (reductions(static_cast<int>(s)) == 0) g.clear();
    g.resize(gradient_size(s), unknown);
    all.insert(all.end(), g.begin(), g.end());
    bool const stepped = steps_[s] > steps_before_[s];
    all.push_back(stepped ? steps_[s] : unknown);
    for (double w : parameters(static_cast<int>(s))) all.push_back(stepped ? w : unknown);
  }
  return all;
}

ASHLAR_INLINE void sharded_network::adopt(std::span<double const> all) {
  std::size_t at = network::results().size();
  network::adopt(all.first(at));
  norm_ = all[at++];
  for (std::size_t s = 0; s < gradients_.size(); ++s) {
    if (all[at] != unknown) {
      auto const g = all.subspan(at, gradient_size(s));
      gradients_[s].assign(g.begin(), g.end());
    }
    at += gradient_size(s);
    bool const stepped = all[at] != unknown;
    if (stepped) steps_[s] = static_cast<int>(all[at]);
    ++at;
    for (double& w : parameters(static_cast<int>(s))) {
      if (stepped) w = all[at];
      ++at;
    }
  }
}

ASHLAR_INLINE void sharded_network::forget() {
  take();
  steps_before_ = steps_;
  norm_ = unknown;
}

}  // namespace ashlar::conformance
