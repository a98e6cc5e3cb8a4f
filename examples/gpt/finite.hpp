// Finds where a step's numbers stop being finite.
#pragma once

#include "worker.hpp"
#include <ashlar/run/sequential.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace gpt {

template <class Scalar>
bool all_finite(std::span<Scalar const> values) {
  return std::all_of(values.begin(), values.end(), [](Scalar x) { return std::isfinite(x); });
}

// Computes as the worker that it refers to, and checks the outputs of the forwards.
template <class Scalar>
class finite_watch {
 public:
  struct place {
    int micro_batch = 0;
    int stage = 0;

    friend auto operator<=>(place const&, place const&) = default;
  };

  explicit finite_watch(worker<Scalar>& w) : worker_(w) {}

  // The first forward, by micro-batch and stage, whose output or loss is not finite.
  std::optional<place> const& first() const { return first_; }

  ashlar::value_layout layout(ashlar::value_key key) const { return worker_.layout(key); }
  void forward(auto& q, ashlar::frame const& f) {
    worker_.forward(q, f);
    bool finite = true;
    for (ashlar::port const& output : f.outputs) {
      auto const* const values = reinterpret_cast<Scalar const*>(output.bytes.data());
      finite = finite && all_finite(std::span(values, output.bytes.size() / sizeof(Scalar)));
    }
    // The loss of a head in shards is known after their backwards; any number in it that is not finite
    // has been in what the forwards told.
    stage_shape const shape = shape_of(worker_.shape(), f.what.stage);
    auto const micro_batch = static_cast<std::size_t>(f.what.micro_batch);
    if (shape.last) finite = finite && std::isfinite(worker_.losses()[micro_batch]);
    if (shape.predicts()) finite = finite && std::isfinite(worker_.prediction_losses()[micro_batch]);
    place const here{f.what.micro_batch, f.what.stage};
    if (!finite && (!first_ || here < *first_)) first_ = here;
  }
  void recompute(auto& q, ashlar::frame const& f) { worker_.recompute(q, f); }
  void backward(auto& q, ashlar::frame const& f) { worker_.backward(q, f); }
  void backward_input(auto& q, ashlar::frame const& f) { worker_.backward_input(q, f); }
  void backward_weight(auto& q, ashlar::frame const& f) { worker_.backward_weight(q, f); }
  void work(auto& q, ashlar::frame const& f) { worker_.work(q, f); }
  void reduced(auto& q, ashlar::parameter_frame const& f) { worker_.reduced(q, f); }
  ashlar::buffer shard(int group, int replica) { return worker_.shard(group, replica); }

 private:
  worker<Scalar>& worker_;
  std::optional<place> first_;
};

// Runs the step again, sequentially, with the weights as they are. Returns the first number of any
// data-parallel rank that is not finite.
template <class Scalar>
std::optional<typename finite_watch<Scalar>::place> first_non_finite(
    ashlar::proved_program const& program, std::vector<worker<Scalar>*> const& ranks) {
  std::vector<finite_watch<Scalar>> watches;
  for (worker<Scalar>* w : ranks) watches.emplace_back(*w);
  std::vector<finite_watch<Scalar>*> all;
  for (finite_watch<Scalar>& watch : watches) all.push_back(&watch);
  ashlar::sequential(program, all).run();
  std::optional<typename finite_watch<Scalar>::place> first;
  for (finite_watch<Scalar> const& watch : watches)
    if (watch.first() && (!first || *watch.first() < *first)) first = watch.first();
  return first;
}

}  // namespace gpt
