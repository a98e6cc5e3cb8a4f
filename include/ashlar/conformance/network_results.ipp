// Definitions of network_results.hpp.
#pragma once

#include <ashlar/conformance/network_results.hpp>
#include <ashlar/core/compiled.hpp>

#include <type_traits>

namespace ashlar::conformance {

ASHLAR_INLINE network_results::outcome network_results::take() {
  outcome result{gradients_, shared_gradients_, {}, work_results_};
  result.losses.assign(micro_batches_, 0.0);
  for (std::size_t i = 0; i < losses_.size(); ++i) result.losses[i % micro_batches_] += losses_[i];
  work_results_.assign(work_results_.size(), nothing());
  for (auto& g : gradients_) g.fill(0);
  for (auto& g : shared_gradients_) g.fill(0);
  for (auto& l : losses_) l = 0;
  for (auto& n : reductions_) n.fill(0);
  return result;
}

ASHLAR_INLINE std::vector<double> network_results::results() const {
  std::vector<double> all;
  for (std::size_t s = 0; s < gradients_.size(); ++s) {
    bool const known = reductions(static_cast<int>(s)) > 0;
    for (int n : reductions_[s]) all.push_back(n > 0 ? n : unknown);
    for (double g : gradients_[s]) all.push_back(known ? g : unknown);
  }
  for (std::size_t g = 0; g < shared_gradients_.size(); ++g) {
    auto const group = static_cast<int>(gradients_.size() + g);
    for (int n : nth(reductions_, group)) all.push_back(n > 0 ? n : unknown);
    for (double d : shared_gradients_[g]) all.push_back(reductions(group) > 0 ? d : unknown);
  }
  for (double loss : losses_) all.push_back(loss != 0 ? loss : unknown);
  for (vector const& part : work_results_) all.insert(all.end(), part.begin(), part.end());
  return all;
}

ASHLAR_INLINE void network_results::adopt(std::span<double const> all) {
  auto next = all.begin();
  auto const take_known = [&](auto& value) {
    if (*next != unknown) value = static_cast<std::remove_reference_t<decltype(value)>>(*next);
    ++next;
  };
  for (std::size_t s = 0; s < gradients_.size(); ++s) {
    for (int& n : reductions_[s]) take_known(n);
    for (double& g : gradients_[s]) take_known(g);
  }
  for (std::size_t g = 0; g < shared_gradients_.size(); ++g) {
    for (int& n : reductions_[gradients_.size() + g]) take_known(n);
    for (double& d : shared_gradients_[g]) take_known(d);
  }
  for (double& loss : losses_) take_known(loss);
  for (vector& part : work_results_)
    for (double& d : part) take_known(d);
}

ASHLAR_INLINE void network_results::note_gradient(parameter_frame const& f) {
  std::lock_guard const lock(mutex_);
  if (static_cast<std::size_t>(f.group) >= gradients_.size())
    shared_gradients_[static_cast<std::size_t>(f.group) - gradients_.size()] = as<vector>(f.gradient);
  else if (f.gradient.size() == sizeof(matrix))  // else a shard
    nth(gradients_, f.group) = as<matrix>(f.gradient);
  ++nth(reductions_, f.group).at(static_cast<std::size_t>(f.site.replica));
}

}  // namespace ashlar::conformance
