// Scales the loss so that small gradients do not vanish, skips the steps whose gradients overflow, and
// clips by the global norm: all from one number, which the program sums before the first optimizer step.
#pragma once

#include "adam.hpp"
#include "arithmetic.hpp"
#include "worker.hpp"
#include <ashlar/run/contract.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gpt {

// Dynamic loss scaling (Micikevicius et al., arXiv 1710.03740, section 3.2).
struct loss_scaling {
  double first = 65536;
  double growth = 2;  // after this many good steps in a row
  int interval = 2000;
  double backoff = 0.5;  // after a step that is skipped
};

// The scale of a step's loss.
struct loss_scale {
  double scale = 1;
  int good_steps = 0;  // since it changed
  int skipped = 0;     // steps so far

  // The squared norm of the scaled gradients says whether they are finite. Returns the factor for them
  // before the optimizer, or 0: the step is skipped. Changes to the next step.
  double step(double squares, loss_scaling const& how, adam_options const& options) {
    if (!std::isfinite(squares)) {
      scale *= how.backoff;
      good_steps = 0;
      ++skipped;
      return 0;
    }
    double const factor = options.scale_for(std::sqrt(squares) / scale) / scale;
    if (++good_steps == how.interval) {
      scale *= how.growth;
      good_steps = 0;
    }
    return factor;
  }

  friend bool operator==(loss_scale const&, loss_scale const&) = default;
};

// The model with an optimizer of its own, for programs with optimizer_step::after_norm and one holder of
// each stage. Every stage has its own scale; all change alike, because all see the same number. So
// nothing leaves a device but that number, and whether a step is skipped is decided in the step.
template <class Scalar>
class loss_scaling_worker : public worker<Scalar> {
 public:
  loss_scaling_worker(config const& of, std::uint64_t seed, loss_scaling how, adam_options options,
                      worker_site site = {})
      : worker<Scalar>(of, seed, std::move(site)),
        how_(how),
        options_(options),
        scales_(static_cast<std::size_t>(of.stages), loss_scale{.scale = how.first}) {
    this->set_loss_scale(how.first);
  }

  ashlar::value_layout layout(ashlar::value_key key) const {
    if (key.kind == ashlar::slot_kind::scalar) return {sizeof(double), 64, ashlar::element_type::f64};
    return worker<Scalar>::layout(key);
  }
  void measure(auto&, ashlar::parameter_frame const& f) {
    double squares = 0;
    for (ashlar::port const& p : f.gradients) {
      auto const* const values = reinterpret_cast<Scalar const*>(p.bytes.data());
      squares += static_cast<double>(
          dot<Scalar>(values, values, static_cast<int>(p.bytes.size() / sizeof(Scalar))));
    }
    number(f.scalar) = squares;
  }
  void optimize(auto&, ashlar::parameter_frame const& f) {
    loss_scale& own = scales_.at(static_cast<std::size_t>(f.group));
    if (double const factor = own.step(number(f.scalar), how_, options_); factor != 0)
      this->update(f.group, options_, factor);
    if (f.group == this->shape().stages - 1) this->set_loss_scale(own.scale);
  }

  loss_scale const& scale(int stage) const { return scales_.at(static_cast<std::size_t>(stage)); }

 private:
  static double& number(ashlar::buffer b) { return *reinterpret_cast<double*>(b.data()); }

  loss_scaling how_;
  adam_options options_;
  std::vector<loss_scale> scales_;  // by stage
};

}  // namespace gpt
