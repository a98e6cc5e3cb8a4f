// Clips the gradient of each micro-batch: by the least norm of all of them (Wang, arXiv 2408.16204,
// algorithm 1), or by a threshold.
#pragma once

#include "arithmetic.hpp"
#include "worker.hpp"
#include <ashlar/model/work.hpp>
#include <ashlar/run/contract.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace gpt {

// What a micro-batch's gradient of that norm is multiplied with before it is added. Without a threshold
// the sum is to be multiplied with the least norm in the end.
inline double clip_factor(double norm, std::optional<double> threshold) {
  if (threshold) return norm > *threshold ? *threshold / norm : 1;
  return norm > 0 ? 1 / norm : 0;
}

// The least of the norms so far. Zeros are one that has seen none.
struct least_norm {
  double seen = 0;
  double norm = 0;

  void add(double next) {
    norm = seen == 0 ? next : std::min(norm, next);
    seen += 1;
  }
};

// Moves the gradient of a micro-batch out of the accumulator; its squared norm.
template <class Scalar>
double take_gradient(std::span<Scalar> accumulator, std::span<Scalar> copy) {
  std::copy_n(accumulator.data(), accumulator.size(), copy.data());
  std::fill_n(accumulator.data(), accumulator.size(), Scalar{});
  return static_cast<double>(dot<Scalar>(copy.data(), copy.data(), static_cast<int>(copy.size())));
}

template <class Scalar>
void add_scaled(std::span<Scalar const> gradient, double factor, std::span<Scalar> sum) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<Scalar>(factor) * gradient[i];
}

// The model with the work that ashlar::clip_micro_batches() puts beside its passes. The optimizer finds
// the clipped gradient where it finds that of a plain model.
template <class Scalar>
class clipping_worker : public worker<Scalar> {
 public:
  // `threshold`: of the gradient of a micro-batch's mean loss; none: the least norm of all
  // micro-batches.
  clipping_worker(config const& of, std::uint64_t seed, ashlar::work_graph work,
                  std::optional<double> threshold = {}, worker_site site = {})
      : worker<Scalar>(of, seed, std::move(site)),
        work_(std::move(work)),
        // A micro-batch's gradient is that of its share in the step's mean loss.
        threshold_(threshold ? std::optional(*threshold / (of.micro_batches * of.data_ranks))
                             : std::nullopt) {}

  ashlar::value_layout layout(ashlar::value_key key) const {
    if (key.kind == ashlar::slot_kind::work_state) {
      ashlar::value_layout of = worker<Scalar>::layout(gradient_of(key.of));
      of.bytes += header;
      return of;
    }
    if (key.kind != ashlar::slot_kind::work) return worker<Scalar>::layout(key);
    // A squared norm, or the least norm of each rank.
    bool const of_ranks =
        work_.view().of(key.of).over_ranks || job(key.of).gradient == ashlar::gradient_use::read;
    return {(of_ranks ? ranks() : 1) * sizeof(double), 64, ashlar::element_type::f64};
  }

  void work(auto&, ashlar::frame const& f) {
    switch (job(f.what.stage).gradient) {
      case ashlar::gradient_use::none:
        numbers(f.work_output)[0] = 0;
        for (ashlar::work_port const& in : f.work_inputs) numbers(f.work_output)[0] += numbers(in)[0];
        return;
      case ashlar::gradient_use::take:
        numbers(f.work_output)[0] = take_gradient(values(f.weight_gradient), values(f.micro_gradient));
        return;
      case ashlar::gradient_use::read:
        return scale(f);
      case ashlar::gradient_use::give:
        return give(f);
    }
  }

 private:
  static constexpr std::size_t header = 64;  // bytes before the sum, which stays aligned

  std::size_t ranks() const { return static_cast<std::size_t>(this->shape().data_ranks); }
  ashlar::work_view::job const& job(int number) const { return work_.view().of(number); }
  ashlar::value_key gradient_of(int number) const {
    return {ashlar::slot_kind::micro_gradient, job(number).stage};
  }
  static std::span<Scalar> values(ashlar::buffer b) {
    return {reinterpret_cast<Scalar*>(b.data()), b.size() / sizeof(Scalar)};
  }
  static std::span<double> numbers(ashlar::buffer b) {
    return {reinterpret_cast<double*>(b.data()), b.size() / sizeof(double)};
  }
  static least_norm& least(ashlar::buffer state) { return *reinterpret_cast<least_norm*>(state.data()); }

  void scale(ashlar::frame const& f) {
    double const norm = std::sqrt(numbers(f.work_inputs[0])[0]);
    least(f.work_state).add(norm);
    add_scaled<Scalar>(values(f.micro_gradient), clip_factor(norm, threshold_),
                       values(f.work_state.subspan(header)));
    if (f.work_output.empty()) return;
    std::ranges::fill(numbers(f.work_output), 0.0);
    numbers(f.work_output)[static_cast<std::size_t>(f.site.rank)] = least(f.work_state).norm;
  }
  void give(ashlar::frame const& f) {
    auto const of_ranks = numbers(f.work_inputs[0]);
    double const factor = threshold_ ? 1 : *std::ranges::min_element(of_ranks);
    add_scaled<Scalar>(values(f.work_state.subspan(header)), factor, values(f.weight_gradient));
  }

  ashlar::work_graph work_;
  std::optional<double> threshold_;
};

}  // namespace gpt
