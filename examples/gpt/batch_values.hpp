// A worker's part in the work that ashlar::clip_micro_batches() and ashlar::balance_experts() put beside
// its passes.
#pragma once

#include "clipping.hpp"
#include "config.hpp"
#include <ashlar/model/work.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/run/contract.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

namespace gpt {

// The work of a program, which says of each job what it does.
struct values_work {
  ashlar::work_graph graph = {};
  // Threshold for the gradient of a micro-batch's mean loss; none: the least norm of all micro-batches.
  std::optional<double> clip_threshold = {};
};

template <class Scalar>
class batch_values {
 public:
  batch_values(config const& shape, values_work work)
      : graph_(std::move(work.graph)),
        counts_(static_cast<std::size_t>(shape.blocks) * static_cast<std::size_t>(shape.experts)),
        ranks_(static_cast<std::size_t>(shape.data_ranks)) {
    if (shape.last_sequences > 0 && !graph_.view().empty())
      throw std::invalid_argument("work across micro-batches needs micro-batches of one size");
    // A micro-batch's gradient is that of its share in the step's mean loss.
    if (work.clip_threshold)
      threshold_ = *work.clip_threshold / (shape.micro_batches * shape.data_ranks);
  }

  // The layout of a job's output or state. `gradient_bytes(stage)`: bytes of a stage's gradient.
  ashlar::value_layout layout(ashlar::value_key key, auto const& gradient_bytes) const {
    ashlar::job_gradient const uses = gradient_of(key.of);
    auto const* const scaled = uses.get_if<ashlar::read_gradient>();
    if (key.kind == ashlar::slot_kind::work_state && scaled != nullptr)
      return {gradient_bytes(scaled->stage) + header, 64,
              sizeof(Scalar) == sizeof(float) ? ashlar::element_type::f32 : ashlar::element_type::f64};
    return {doubles_of(key.of) * sizeof(double), 64, ashlar::element_type::f64};
  }

  // `count(stash, stage, counts)` writes how many tokens of a micro-batch each expert of each block got,
  // zeros for blocks of other stages.
  void work(ashlar::frame const& f, auto const& count) const {
    gradient_of(ashlar::part_of(f.what).job)
        .visit(
            [&](ashlar::no_gradient) {
              if (!f.work_inputs.empty() && !ashlar::is_part(f.work_inputs[0].from))
                return count(f.work_inputs[0].bytes, f.work_inputs[0].from.stage,
                             numbers(f.work_output));
              return add_up(f);
            },
            [&](ashlar::take_gradient) {
              numbers(f.work_output)[0] =
                  take_gradient(values(f.weight_gradient), values(f.micro_gradient));
            },
            [&](ashlar::read_gradient) { return scale(f); },
            [&](ashlar::give_gradient) { return give(f); });
  }

 private:
  static constexpr std::size_t header = 64;  // bytes before the sum, which stays aligned

  ashlar::job_gradient gradient_of(int job) const { return graph_.view().gradient_of(job); }
  static std::span<Scalar> values(ashlar::buffer b) {
    return {reinterpret_cast<Scalar*>(b.data()), b.size() / sizeof(Scalar)};
  }
  static std::span<double> numbers(ashlar::buffer b) {
    return {reinterpret_cast<double*>(b.data()), b.size() / sizeof(double)};
  }
  static least_norm& least(ashlar::buffer state) { return *reinterpret_cast<least_norm*>(state.data()); }

  // A squared norm, the least norm of each rank, or counts: summands have the size of the sum.
  std::size_t doubles_of(int number) const {
    ashlar::job_gradient const uses = gradient_of(number);
    if (uses.is<ashlar::take_gradient>()) return 1;
    if (uses.is<ashlar::read_gradient>()) return ranks_;
    auto const inputs = graph_.view().inputs(ashlar::part_id{number, 0});
    if (!inputs.empty() && ashlar::is_part(inputs[0].from))
      return doubles_of(ashlar::part_of(inputs[0].from).job);
    return counts_;
  }

  // Writes the sum of the inputs, to the job's state if it has one.
  static void add_up(ashlar::frame const& f) {
    std::span<double> const sum = numbers(f.work_state.empty() ? f.work_output : f.work_state);
    if (f.work_state.empty()) std::ranges::fill(sum, 0.0);
    for (ashlar::work_port const& in : f.work_inputs)
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += numbers(in)[i];
    if (!f.work_state.empty() && !f.work_output.empty())
      std::ranges::copy(sum, numbers(f.work_output).begin());
  }
  void scale(ashlar::frame const& f) const {
    double const norm = std::sqrt(numbers(f.work_inputs[0])[0]);
    least(f.work_state).add(norm);
    add_scaled<Scalar>(values(f.micro_gradient), clip_factor(norm, threshold_),
                       values(f.work_state.subspan(header)));
    if (f.work_output.empty()) return;
    std::ranges::fill(numbers(f.work_output), 0.0);
    numbers(f.work_output)[static_cast<std::size_t>(f.site.rank)] = least(f.work_state).norm;
  }
  void give(ashlar::frame const& f) const {
    auto const of_ranks = numbers(f.work_inputs[0]);
    double const factor = threshold_ ? 1 : *std::ranges::min_element(of_ranks);
    add_scaled<Scalar>(values(f.work_state.subspan(header)), factor, values(f.weight_gradient));
  }

  ashlar::work_graph graph_;
  std::size_t counts_, ranks_;  // numbers in a set of counts; data-parallel ranks
  std::optional<double> threshold_;
};

}  // namespace gpt
