// The model on the host, for programs that end with the optimizer's step too.
#pragma once

#include <ashlar/run/contract.hpp>

#include <gpt/adam.hpp>
#include <gpt/exact_sum.hpp>
#include <gpt/worker.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tool {

template <class Scalar>
class train_worker : public gpt::worker<Scalar> {
 public:
  // `first_here`: by group, the first of its holders whose device this worker has.
  train_worker(gpt::config const& of, std::uint64_t seed, gpt::worker_site site, gpt::values_work work,
               std::vector<int> first_here)
      : gpt::worker<Scalar>(of, seed, std::move(site), std::move(work)),
        first_here_(std::move(first_here)) {}

  // Sets the optimizer of the steps to come, if their program has one. They do not count as updates
  // until the caller says so: set_updates().
  void set_optimizer(gpt::adam_options const& options) { options_ = options; }

  ashlar::value_layout layout(ashlar::value_key key) const {
    if (key.kind == ashlar::slot_kind::scalar) return {sizeof(double), 64, ashlar::element_type::f64};
    return gpt::worker<Scalar>::layout(key);
  }
  void measure(auto&, ashlar::parameter_frame const& f) {
    gpt::exact_sum squares;
    for (ashlar::port const& p : f.gradients)
      squares.add_squares(std::span<Scalar const>(this->data(p.bytes), p.bytes.size() / sizeof(Scalar)));
    number(f.scalar) = squares.value();
  }
  // Makes the step. Replicas of a stage share its parameters, and one of them makes it; a tied group has
  // a copy for each. A gradient that is known to have numbers that are not finite changes nothing.
  void optimize(auto&, ashlar::parameter_frame const& f) {
    int const holder = f.site.replica;
    bool const shared = this->copies(f.group) == 1;
    if (shared && holder != first_here_[static_cast<std::size_t>(f.group)]) return;
    double const norm = f.scalar.empty() ? 0 : std::sqrt(number(f.scalar));
    if (std::isfinite(norm))
      this->update_copy(f.group, this->copy_for(f.group, holder), options_, this->updates(f.group) + 1,
                        options_.scale_for(norm));
  }

 private:
  static double& number(ashlar::buffer b) { return *reinterpret_cast<double*>(b.data()); }

  std::vector<int> first_here_;
  gpt::adam_options options_;
};

}  // namespace tool
