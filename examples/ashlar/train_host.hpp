// All devices in this process, a thread each.
#pragma once

#include "train_team.hpp"
#include <ashlar/host/runtime.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace tool {

template <class Scalar>
class host_team : public team<Scalar> {
 public:
  explicit host_team(training const& t)
      : team<Scalar>(t, 0, t.devices(), 0, 1),
        runtime_(t.program, this->workers(), {.record = true, .deadline = t.options->deadline_ms()}) {}

  void run(step_plan const&) override { runtime_.run(); }
  void unite(std::span<std::byte>) override {}
  void work(std::function<void()> const& act) override { act(); }
  std::vector<ashlar::instruction_time> times() const override { return runtime_.times(); }

 private:
  ashlar::host::runtime<gpt::worker<Scalar>> runtime_;
};

}  // namespace tool
