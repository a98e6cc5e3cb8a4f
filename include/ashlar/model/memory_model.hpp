// How much of a device's memory passes take and give back, and how much a device may hold.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/placement.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// Sizes of one stage, in bytes or any other unit: the memory of each replica that is always taken, and
// the values that come and go with each micro-batch.
struct stage_memory {
  static constexpr byte_count all = -1;

  byte_count weights = 0;
  byte_count optimizer_state = 0;
  byte_count weight_gradient = 0;
  byte_count activation = 0;         // the stage's output, as a message
  byte_count gradient = 0;           // of the stage's output, as a message from each next stage
  byte_count checkpoint = all;       // part of the stash that a forward keeps for a recompute; all: none
  byte_count stash = 0;              // kept by a forward (or recompute) for the backward: an activation
  byte_count stash_left = all;       // part of the stash that stays from the input to the weight pass
  byte_count weight_stash = 0;       // also kept by a backward, from its input to its weight pass
  byte_count sequence_state = 0;     // left by a chunk of a sequence for the next one
  byte_count sequence_gradient = 0;  // of that, for the one before

  // Memory of each replica that is always taken, max_tick at most.
  constexpr byte_count resident() const {
    return saturating_sum(saturating_sum(weights, weight_gradient), optimizer_state);
  }
  constexpr bool recomputes() const { return checkpoint != all; }
  // Bytes that a forward keeps until its backward, or until its recompute, which takes the rest of the
  // stash.
  constexpr byte_count kept_by_forward() const { return recomputes() ? checkpoint : stash; }
  // The part of the stash that an input pass leaves for its weight pass.
  constexpr byte_count left_by_input() const { return stash_left == all ? stash : stash_left; }

  // Bytes that a pass takes at its start, and gives back at its end: in inference all that it took, in
  // training all that no later pass of its micro-batch needs. Messages do not count, and neither do the
  // values that sequence chunks hand over.
  constexpr byte_count taken_by(pass_kind kind) const {
    switch (kind) {
      case pass_kind::forward:
        return kept_by_forward();
      case pass_kind::recompute:
        return stash - kept_by_forward();
      case pass_kind::backward:
      case pass_kind::backward_input:
        return weight_stash;
      case pass_kind::backward_weight:
      case pass_kind::work:
        break;
    }
    return 0;
  }
  constexpr byte_count given_back_by(pass_kind kind, execution_mode mode) const {
    if (mode == execution_mode::inference) return taken_by(kind);
    switch (kind) {
      case pass_kind::backward:
        return stash + weight_stash;
      case pass_kind::backward_input:
        return stash - left_by_input();
      case pass_kind::backward_weight:
        return left_by_input() + weight_stash;
      case pass_kind::forward:
      case pass_kind::recompute:
      case pass_kind::work:
        break;
    }
    return 0;
  }

  // The least that a micro-batch holds at any time from the start of its forward (or recompute) to the
  // end of its weight pass (or input pass).
  constexpr byte_count least_held(pass_kind from, pass_kind to) const {
    byte_count least = stash;
    if (from == pass_kind::forward) least = min_of(least, kept_by_forward());
    if (to == pass_kind::backward_weight) least = min_of(least, left_by_input() + weight_stash);
    return least;
  }

  friend constexpr bool operator==(stage_memory const&, stage_memory const&) = default;
};

// Sizes of a job, in the unit of stage_memory: the output of each of its parts, and the state on each of
// its devices.
struct job_bytes {
  byte_count output = 0;
  byte_count state = 0;

  friend constexpr bool operator==(job_bytes const&, job_bytes const&) = default;
};

// Checks rule::sizes_fit: sizes are not negative and below max_tick.
constexpr diagnosis check_work_bytes(list_view<job_bytes> jobs) {
  for (job_bytes const& b : jobs)
    for (byte_count size : {b.output, b.state})
      if (size < 0 || size >= max_tick) return {.broken = rule::sizes_fit, .number = size};
  return {};
}

// The sizes of all stages of a model, and of the parameters that several of them share.
struct memory_model {
  static constexpr stage_memory nothing = {};

  std::vector<stage_memory> stages = std::vector<stage_memory>(1);  // one for all alike, or one each
  std::vector<stage_memory> shared = {};  // of parameters that several stages use: one for each group
  // 0: micro-batches are alike. Else each of the above is a row of this many entries, one for each
  // micro-batch, as of packed sequences; memory that is always taken is the same in all of them.
  int micro_batches = 0;

  // Requires a stage that exists; micro-batches wrap around.
  constexpr stage_memory const& of(int stage, int micro_batch = 0) const {
    auto const row = static_cast<std::size_t>(period()), i = static_cast<std::size_t>(stage);
    std::size_t const first = stages.size() == row ? 0 : i * row;
    return stages[row == 1 ? first : first + static_cast<std::size_t>(micro_batch) % row];
  }
  // Micro-batches that are this many apart are alike.
  constexpr int period() const { return micro_batches == 0 ? 1 : micro_batches; }
  // The sizes of a parameter group: of a stage's own parameters, or of shared ones; nothing of shared
  // ones that are not listed.
  constexpr stage_memory const& of_group(int group, int stage_count) const {
    int const number = group - stage_count;
    if (number < 0) return of(group);
    return number < static_cast<int>(shared.size()) ? nth(shared, number) : nothing;
  }
  // Memory of a device that is always taken, for every stage with a replica there, max_tick at most.
  // O(stages * routes).
  constexpr byte_count resident_on(placement const& where, int device) const {
    byte_count sum = 0;
    if (static_cast<int>(stages.size()) == period() && of(0).resident() == 0) return sum;
    for (int stage = 0; stage < where.stage_count(); ++stage) {
      bool lives = false;
      for (int route = 0; route < where.route_count(); ++route)
        lives = lives || where.has(route, stage, device);
      if (lives) sum = saturating_sum(sum, of(stage).resident());
    }
    return sum;
  }

  friend constexpr bool operator==(memory_model const&, memory_model const&) = default;
};

// Broken rules: rule::tables_agree unless there is one entry (or row) for all stages or one each;
// rule::sizes_fit, with the stage, for sizes that are negative or not below max_tick, and if more of a
// stash stays than there is; rule::micro_batches_share_weights for micro-batches of which only some
// recompute a stage, or that differ in the memory that is always taken.
constexpr diagnosis check(memory_model const& memory, int stage_count) {
  if (memory.micro_batches < 0)
    return {.broken = rule::counts_are_positive, .number = memory.micro_batches};
  auto const row = static_cast<std::size_t>(memory.period());
  if (memory.stages.size() != row && memory.stages.size() / row != static_cast<std::size_t>(stage_count))
    return wrong_size(table::stage_memory, memory.stages.size() / row, stage_count);
  if (memory.stages.size() % row != 0)
    return wrong_size(table::micro_batch_memory, memory.stages.size() % row, memory.micro_batches);
  for (auto const* table : {&memory.stages, &memory.shared})
    for (std::size_t i = 0; i < table->size(); ++i) {
      stage_memory const& m = (*table)[i];
      bool const is_row = table == &memory.stages;
      site const where{.what = {.stage = static_cast<int>(is_row ? i / row : i)}};
      for (byte_count size : {m.weights, m.optimizer_state, m.weight_gradient, m.activation, m.gradient,
                              m.stash, m.kept_by_forward(), m.left_by_input(), m.weight_stash,
                              m.sequence_state, m.sequence_gradient})
        if (size < 0 || size >= max_tick)
          return {.broken = rule::sizes_fit, .first = where, .number = size};
      for (byte_count part : {m.kept_by_forward(), m.left_by_input()})
        if (part > m.stash) return {.broken = rule::sizes_fit, .first = where, .number = part};
      if (!is_row || row == 1) continue;
      stage_memory const& first = (*table)[i - i % row];
      if (m.recomputes() != first.recomputes() || m.weights != first.weights
          || m.optimizer_state != first.optimizer_state || m.weight_gradient != first.weight_gradient)
        return {.broken = rule::micro_batches_share_weights, .first = where};
    }
  return {};
}

// Checks also rule::tables_agree: sizes tell apart all micro-batches or none.
constexpr diagnosis check(memory_model const& memory, int stage_count, int micro_batch_count) {
  if (diagnosis const d = check(memory, stage_count); !d.ok()) return d;
  if (memory.micro_batches != 0 && memory.micro_batches != micro_batch_count)
    return wrong_size(table::micro_batch_memory, memory.micro_batches, micro_batch_count);
  return {};
}

// The memory limit of each device: for the memory that is always taken and the values of passes
// together. Messages do not count.
struct memory_limit {
  memory_model memory = {};
  std::vector<byte_count> budget = {};  // one entry for all devices, or one each

  // The budget of a device that exists.
  constexpr byte_count budget_of(int device) const {
    return budget[budget.size() == 1 ? 0 : static_cast<std::size_t>(device)];
  }
  // The memory left for the values of passes. A budget may be any number.
  constexpr byte_count free_on(placement const& where, int device) const {
    return max_of(budget_of(device), -max_tick) - memory.resident_on(where, device);
  }

  friend constexpr bool operator==(memory_limit const&, memory_limit const&) = default;
};

// A limit on the chunk activations of each device. Each forward takes one; the fused backward or the
// weight pass gives it back.
constexpr memory_limit chunk_activations(std::vector<byte_count> each) {
  memory_limit limit{.memory = {}, .budget = static_cast<std::vector<byte_count>&&>(each)};
  limit.memory.stages[0].stash = 1;
  return limit;
}
constexpr memory_limit chunk_activations(byte_count most) {
  return chunk_activations(std::vector<byte_count>(1, most));
}

// `recomputed` stages keep only checkpoint_of(stage, stage_memory) until their recompute. Throws
// violation: rule::every_pass_is_known for a stage out of range, rule::parameter_is_at_most for more
// than most_stages. The answer has an entry for each stage.
template <class CheckpointOf>
constexpr memory_model recomputing(memory_model memory, int stage_count,
                                   std::vector<int> const& recomputed, CheckpointOf checkpoint_of) {
  if (recomputed.empty()) return memory;
  must_be(at_most(parameter::stage_count, stage_count, most_stages));
  for (int stage : recomputed)
    if (stage < 0 || stage >= stage_count)
      refuse({.broken = rule::every_pass_is_known,
              .first = {.what = {.kind = pass_kind::recompute, .stage = stage}}});
  auto const row = static_cast<std::size_t>(memory.period());
  for (std::size_t i = memory.stages.size(); i < row * static_cast<std::size_t>(stage_count); ++i)
    memory.stages.push_back(stage_memory(memory.stages[i % row]));
  for (int stage : recomputed) {
    for (std::size_t k = 0; k < row; ++k) {
      stage_memory& own = memory.stages[static_cast<std::size_t>(stage) * row + k];
      own.checkpoint = checkpoint_of(stage, static_cast<stage_memory const&>(own));
    }
  }
  return memory;
}

namespace memory_detail {

// smallest_budget() for sizes that have been checked, and at least one chunk.
constexpr byte_count smallest_budget(placement const& where, memory_model const& memory, int device,
                                     int sequence_chunks, execution_mode mode) {
  byte_count most = 0;
  bool const trains = mode == execution_mode::training, alike = memory.micro_batches == 0;
  int const told = alike ? sequence_chunks : memory.micro_batches;
  for (int route = 0; route < where.route_count(); ++route)
    // The last chunk goes back first, so if chunks are alike, most is held at the last.
    for (int k = alike ? told - 1 : 0; k < told; ++k) {
      byte_count held =
          0;  // of the chunks up to k, when all have gone forward through the stages so far
      for (int stage = 0; stage < where.stage_count(); ++stage) {
        if (!where.has(route, stage, device)) continue;
        stage_memory const& m = memory.of(stage, k);
        if (trains && alike)
          held = saturating_sum(held, saturating_product(m.kept_by_forward(), told));
        else if (trains)
          for (int chunk = k - k % sequence_chunks; chunk <= k; ++chunk)
            held = saturating_sum(held, memory.of(stage, chunk).kept_by_forward());
        // Later stages are through when this chunk goes back.
        byte_count const more =
            trains ? m.taken_by(pass_kind::recompute) + m.weight_stash : m.taken_by(pass_kind::forward);
        most = max_of(most, saturating_sum(held, more));
      }
    }
  return saturating_sum(most, memory.resident_on(where, device));
}

}  // namespace memory_detail

// The smallest budget for a device that runs one micro-batch at a time (the q chunks of one sequence),
// the largest if they differ. The device then holds every stage until its backwards. Stages that
// recompute take all of their stash only at the recompute. O(stages * routes); for micro-batches that
// are told apart, for each of them, and for each chunk before it in its sequence. Throws violation:
// check(memory), rule::counts_are_positive for the chunks.
constexpr byte_count smallest_budget(placement const& where, memory_model const& memory, int device,
                                     int sequence_chunks = 1,
                                     execution_mode mode = execution_mode::training) {
  must_be(check(memory, where.stage_count()));
  if (sequence_chunks < 1) refuse({.broken = rule::counts_are_positive, .number = sequence_chunks});
  return memory_detail::smallest_budget(where, memory, device, sequence_chunks, mode);
}

// Checks check(memory_model) for this many micro-batches; rule::tables_agree unless there is one budget
// for all devices or one each; rule::parameter_is_at_least with the smallest budget of the first device
// that has less. `least` gives the smallest budgets, a list by device, and is called only if the checks
// before pass.
template <class SmallestBudgets>
constexpr diagnosis check_budgets(memory_limit const& limit, placement const& where,
                                  int micro_batch_count, SmallestBudgets const& least) {
  if (diagnosis const d = check(limit.memory, where.stage_count(), micro_batch_count); !d.ok()) return d;
  if (limit.budget.size() != 1 && static_cast<int>(limit.budget.size()) != where.device_count())
    return wrong_size(table::device_budgets, limit.budget.size(), where.device_count());
  std::vector<byte_count> const needed = least();
  for (int d = 0; d < where.device_count(); ++d)
    if (limit.budget_of(d) < nth(needed, d))
      return {.broken = rule::parameter_is_at_least,
              .first = {.device = d},
              .number = nth(needed, d),
              .which = parameter::memory_budget,
              .given = limit.budget_of(d)};
  return {};
}

// Checks that each device has room for one micro-batch at a time (the chunks of one sequence): the rules
// of check_budgets(), with smallest_budget() of each device, and its complexity for each of them;
// rule::counts_are_positive for the chunks.
constexpr diagnosis check(memory_limit const& limit, placement const& where, int micro_batch_count,
                          int sequence_chunks = 1, execution_mode mode = execution_mode::training) {
  if (sequence_chunks < 1) return {.broken = rule::counts_are_positive, .number = sequence_chunks};
  return check_budgets(limit, where, micro_batch_count, [&] {
    std::vector<byte_count> least;
    for (int d = 0; d < where.device_count(); ++d)
      least.push_back(memory_detail::smallest_budget(where, limit.memory, d, sequence_chunks, mode));
    return least;
  });
}

}  // namespace ashlar
