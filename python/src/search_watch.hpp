// Progress that a search reports to Python.
#pragma once

#include <ashlar/optimize/budget.hpp>
#include <ashlar/optimize/list_scheduler.hpp>

#include <nanobind/nanobind.h>

#include <chrono>
#include <cstdint>

namespace python {

// Called by searches, without the GIL. Some ten times a second it takes the GIL to look for signals and
// to tell whoever wants to know; an exception of theirs, or Ctrl-C, is thrown and so ends the search.
class watch {
 public:
  watch(nanobind::object const& progress, ashlar::objective aim) : progress_(&progress), aim_(aim) {}

  bool operator()(ashlar::list_scheduler::solution const& best, std::int64_t passes) {
    spent_ += passes;
    auto const now = std::chrono::steady_clock::now();
    if (stopped_ || now < next_) return !stopped_;
    next_ = now + std::chrono::milliseconds(100);
    nanobind::gil_scoped_acquire const held;
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    if (progress_->is_none() || best.orders.empty()) return true;
    nanobind::object const answer =
        (*progress_)(aim_ == ashlar::objective::span ? best.span : best.makespan, spent_);
    stopped_ = answer.is(nanobind::bool_(false));
    return !stopped_;
  }

 private:
  nanobind::object const* progress_;
  ashlar::objective aim_;
  bool stopped_ = false;
  std::int64_t spent_ = 0;  // passes
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace python
