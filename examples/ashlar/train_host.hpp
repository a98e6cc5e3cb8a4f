// All devices in this process, a thread each.
#pragma once

#include "train_team.hpp"
#include "transfer_probe.hpp"
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

  void run(step_plan const&) override { runtime_->run(); }
  void unite(std::span<std::byte>) override {}
  void work(std::function<void()> const& act) override { act(); }
  std::vector<ashlar::instruction_time> times() const override { return runtime_->times(); }

  void adopt() override {
    runtime_.reset();  // first: one program at a time has memory
    runtime_ = std::make_unique<ashlar::host::runtime<gpt::worker<Scalar>>>(t_->program, this->workers(),
                                                                            options());
  }
  std::vector<double> time_transfers(link_class which, probe what) override {
    std::vector<double> all;
    if (which == link_class::between || t_->program.device_count() < 2) return all;
    probe_worker w{what.bytes};
    ashlar::host::runtime<probe_worker> two(round_trip(), w, options());
    for (int i = 0; i < what.repeats; ++i) {
      two.run();
      all.push_back(one_way_ns(two.view(), two.times()));
    }
    return all;
  }
  std::vector<double> time_sums(probe what) override {
    std::vector<double> all;
    int const ranks = t_->devices();
    if (ranks < 2) return all;
    probe_worker w{what.bytes};
    ashlar::host::runtime<probe_worker> together(
        sum_over(ranks), std::vector<probe_worker*>(static_cast<std::size_t>(ranks), &w), options());
    for (int i = 0; i < what.repeats; ++i) {
      together.run();
      all.push_back(sum_of_last_ns(together.view(), together.times(), ranks));
    }
    return all;
  }

 private:
  ashlar::host::run_options options() const {
    return {.record = true, .deadline = t_->options->deadline_ms()};
  }

  training const* t_;
  std::unique_ptr<ashlar::host::runtime<gpt::worker<Scalar>>> runtime_;
};

}  // namespace tool
