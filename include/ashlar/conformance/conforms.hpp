// The test that every backend has to pass: programs of all kinds give the losses, gradients, weights
// and norms of the sequential reference.
#pragma once

#include <ashlar/conformance/network.hpp>
#include <ashlar/conformance/programs.hpp>
#include <ashlar/conformance/sharded_network.hpp>
#include <ashlar/core/function_ref.hpp>
#include <ashlar/run/frame.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace ashlar::conformance {

// The largest error with numerics::any_order, relative to the largest number of its kind.
inline constexpr double any_order_bound = 1e-12;

struct report {
  int programs = 0;
  std::vector<std::string> failures;  // a sentence each, with the name of the program
  bool ok() const { return failures.empty(); }
};

namespace conformance_detail {

bool agree(std::span<double const> found, std::span<double const> expected, numerics level);

using say_if = function_ref<void(bool holds, std::string const& what)>;

// Calls act(say) for a program. An exception counts as a failure, too.
void try_program(report& r, std::string const& name, function_ref<void(say_if)> act);

}  // namespace conformance_detail

// Tests a backend: `run(program, network)` runs one step. Messages have at least `bytes` bytes.
report conforms(std::vector<sample_program> const& samples,
                function_ref<void(program const&, network&)> run, numerics level = numerics::ordered,
                std::size_t bytes = 0);

// Tests data-parallel ranks, two steps of each program: `run(program, workers)` runs one, with a worker
// a rank.
report ranks_conform(std::vector<sample_program> const& samples,
                     function_ref<void(program const&, std::vector<sharded_network*> const&)> run,
                     numerics level = numerics::ordered);

}  // namespace ashlar::conformance

#ifndef ASHLAR_COMPILED
#include <ashlar/conformance/conforms.ipp>
#endif
