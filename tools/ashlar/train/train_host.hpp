// All devices in this process, a thread each.
#pragma once

#include "train/train_team.hpp"
#include <ashlar/host/runtime.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace tool {

template <class Scalar>
class host_team : public team<Scalar> {
 public:
  explicit host_team(training const& t) : team<Scalar>(t, 0, t.devices(), 0, 1), t_(&t) { adopt(); }

  void run(step_plan const& plan) override {
    this->set_optimizer(plan.optimizer);
    runtime_->run();
  }
  void unite(std::span<std::byte>) override {}
  void work(std::function<void()> const& act) override { act(); }
  std::vector<ashlar::instruction_time> times() const override { return runtime_->times(); }

  void adopt() override {
    runtime_.reset();  // first: one program at a time has memory
    runtime_ = std::make_unique<runtime>(t_->program, this->workers(), options());
  }
  std::vector<double> time_transfers(link_class which, probe what) override {
    if (which == link_class::between || t_->program.device_count() < 2) return {};
    return ashlar::measure::transfers_ns<ashlar::host::runtime>(what, options());
  }
  std::vector<double> time_sums(probe what) override {
    return ashlar::measure::sums_ns<ashlar::host::runtime>(what, t_->devices(), options());
  }

 private:
  using runtime = ashlar::host::runtime<typename team<Scalar>::worker>;

  ashlar::host::run_options options() const {
    return {.record = true,
            .deadline = t_->options->deadline_ms(),
            .window = t_->options->window,
            .offload_folder = t_->options->offload_folder};
  }

  training const* t_;
  std::unique_ptr<runtime> runtime_;
};

}  // namespace tool
