// Random problems for searches, each with a limit that some schedule keeps.
#pragma once

#include "random.hpp"
#include <ashlar/search/problem.hpp>

#include <algorithm>
#include <vector>

namespace random_case {

// A placement that is linear, V, looped, wave, or with stages wherever they fall; a device may be left
// out.
inline placement random_chain(dice& d) {
  devices const p{d.between(1, 4)};
  switch (d.between(0, 4)) {
    case 0:
      return linear(p);
    case 1:
      return v_shape(p);
    case 2:
      return looped(p, chunks{d.between(2, 3)});
    case 3:
      return wave(p, waves{2});
    default:
      return random_placement(d, p, stages{d.between(1, 8)});
  }
}

// The least bytes for one sequence after the other: what is kept of all its chunks, and the whole of one
// that is recomputed, those of later stages being through; beside what lies there all the time, and
// during an input pass what it keeps for its weight pass.
inline byte_count least_of(search_problem const& problem, int device, int micro_batch) {
  byte_count sum = 0, most = 0, resident = 0;
  for (int stage = 0; stage < problem.where.stage_count(); ++stage) {
    if (problem.where.device_of(0, stage) != device) continue;
    stage_memory const& m = problem.limit.memory.of(stage, micro_batch);
    byte_count const kept = m.checkpoint == stage_memory::all ? m.stash : m.checkpoint;
    sum += kept * problem.sequence_chunks;
    most = std::max(most, sum + m.stash - kept + m.weight_stash);
    resident += m.weights + m.optimizer_state + m.weight_gradient;
  }
  return resident + most;
}

inline byte_count least_of(search_problem const& problem, int device) {
  byte_count most = 0;
  for (int k = 0; k < problem.m.value; ++k) most = std::max(most, least_of(problem, device, k));
  return most;
}

// A problem with a limit from the smallest with a solution up: of one count for all, of one each, or in
// bytes of which some stay until the weight pass, or until a recompute.
inline search_problem random_problem(dice& d) {
  search_problem problem{.where = random_chain(d),
                         .m = micro_batches{d.between(1, 9)},
                         .cost = {},
                         .limit = chunk_activations(0)};
  int const count = problem.where.stage_count(), p = problem.where.device_count();
  problem.cost = random_costs(d, count);
  vary_machine(d, problem.cost, p, false);
  std::vector<stage_memory>& stages = problem.limit.memory.stages;
  if (d.percent(30)) {
    stages.assign(static_cast<std::size_t>(count), {});
    bool const again = d.percent(50), more = d.percent(30);
    for (stage_memory& m : stages) {
      m.stash = d.between(1, 9);
      m.stash_left = d.between(0, static_cast<int>(m.stash));
      if (again && d.percent(70)) m.checkpoint = d.between(0, static_cast<int>(m.stash));
      if (more) m.weight_stash = d.between(0, 4);
      if (more) m.optimizer_state = d.between(0, 20);
    }
  }
  if (d.percent(20)) {
    problem.sequence_chunks = d.between(2, 3);
    problem.m = micro_batches{d.between(1, 4)};
    if (d.percent(60)) differ_by_sequence_chunk(d, problem.cost, problem.sequence_chunks);
  } else if (d.percent(20)) {
    differ_by_micro_batch(d, problem.cost, problem.m.value);
    if (d.percent(60)) differ_by_micro_batch(d, problem.limit.memory, problem.m.value, 9);
  }
  problem.limit.budget.clear();
  for (int device = 0; device < p; ++device) {
    byte_count const least = least_of(problem, device);
    problem.limit.budget.push_back(least
                                   + (d.percent(30) ? 0 : d.between(0, static_cast<int>(2 * least))));
  }
  if (d.percent(40))
    problem.limit.budget.assign(
        1, *std::max_element(problem.limit.budget.begin(), problem.limit.budget.end()));
  return problem;
}

}  // namespace random_case
