// The actions of a job of work and its parts.
#pragma once

#include <ashlar/core/either.hpp>
#include <ashlar/core/ticks.hpp>

#include <vector>

namespace ashlar {

// A part of a job, named by a part_id: where it runs, and its ticks there, at any speed of the device.
struct work_part {
  int device = 0;
  tick duration = 1;

  friend constexpr bool operator==(work_part const&, work_part const&) = default;
};

// State is a slot on each device of a job that keeps its value from step to step. Parts there add to it
// in their order.
struct no_state {
  friend constexpr bool operator==(no_state const&, no_state const&) = default;
};
struct own_state {
  bool is_cleared = false;  // zeros again after each step

  friend constexpr bool operator==(own_state const&, own_state const&) = default;
};
struct shared_state {
  int of = 0;  // an earlier job that has its own

  friend constexpr bool operator==(shared_state const&, shared_state const&) = default;
};
using job_state = either<no_state, own_state, shared_state>;

// How the parts of a job use the gradient of a stage, which its passes add up in the stage's
// accumulator.
struct no_gradient {
  friend constexpr bool operator==(no_gradient const&, no_gradient const&) = default;
};
// Part k takes the sum that micro-batch k has added: it copies that and leaves zeros.
struct take_gradient {
  int stage = 0;

  friend constexpr bool operator==(take_gradient const&, take_gradient const&) = default;
};
// Part k, if there is a micro-batch k, reads that copy.
struct read_gradient {
  int stage = 0;

  friend constexpr bool operator==(read_gradient const&, read_gradient const&) = default;
};
// A part on each holder of the stage puts the gradient to be reduced in place of all that was taken.
struct give_gradient {
  int stage = 0;

  friend constexpr bool operator==(give_gradient const&, give_gradient const&) = default;
};
using job_gradient = either<no_gradient, take_gradient, read_gradient, give_gradient>;

// Each part is a pass of its device's order.
struct compute_job {
  job_state state = {};
  job_gradient gradient = {};

  friend constexpr bool operator==(compute_job const&, compute_job const&) = default;
};
// The parts, one on each device that takes part, sum their inputs element by element, in the order of
// the parts; as soon as all have them, on the lane of collectives.
struct all_reduce_job {
  bool over_ranks = false;  // also over the data-parallel ranks, part by part

  friend constexpr bool operator==(all_reduce_job const&, all_reduce_job const&) = default;
};
using job_action = either<compute_job, all_reduce_job>;

// A job: its parts, numbered from 0, and their action. work_graph has the conditions.
struct work_job {
  std::vector<work_part> parts;
  job_action does = {};

  friend constexpr bool operator==(work_job const&, work_job const&) = default;
};

}  // namespace ashlar
