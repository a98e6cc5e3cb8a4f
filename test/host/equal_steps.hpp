// Steps of two programs on threads, compared.
#pragma once

#include <ashlar/conformance/data_parallel_ranks.hpp>
#include <ashlar/host/runtime.hpp>

#include <doctest/doctest.h>

// Runs three steps of each program, with as many parameter groups, and checks that each group's gradient
// and weights have the same bits after each step.
inline void check_equal_steps(ashlar::program const& p, ashlar::program const& q) {
  ashlar::conformance::data_parallel_ranks expected(p), found(q);
  ashlar::host::runtime one(p, expected.workers()), other(q, found.workers());
  for (int step = 0; step < 3; ++step) {
    one.run();
    other.run();
    for (int group = 0; group < p.groups.count(); ++group) {
      CHECK(found.gradient(group) == expected.gradient(group));
      CHECK(found.weights(group) == expected.weights(group));
    }
  }
}
