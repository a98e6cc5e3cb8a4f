// A workload as steps that every stage takes for every micro-batch, in forward and in reversed time. A
// stage on several routes counts as several stages here, numbered route after route.
#pragma once

#include <ashlar/bounds/workload.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar::bounding_detail {

// Steps follow each other on each stage; one takes memory, a later one gives it back. In reversed time
// the same holds the other way round, so that a flow and its reverse are of one kind.
struct flow {
  // A step of every stage, once for each micro-batch, for example its forward.
  struct step {
    int direction = 0;           // +1: after this step of the stage before it, -1: of the stage after it
    std::vector<tick> length;    // by stage; of the shortest micro-batch
    std::vector<tick> hop = {};  // by stage: of a message between it and the one before it
    std::vector<tick> extra = {};  // by stage and chunk: beyond the length; empty where chunks are alike
    std::vector<tick> more = {};   // by stage: of all micro-batches, if these differ; else empty
  };

  std::vector<step> steps;
  std::vector<int> device;  // by stage
  std::vector<int> chunk;   // by stage: how many earlier ones of its route are on its device
  std::vector<int> chunks;  // by stage: how many of its route are on its device
  std::vector<std::vector<int>> stages_of;  // by device, ascending
  std::vector<int> limit;                   // by device
  std::vector<int> micro_batches;           // by stage
  int route_length = 0;                     // stages of a route
  int most_micro_batches = 0;               // of a route
  int sequence_chunks = 1;
  int takes = 0, gives = 0;  // steps

  constexpr int step_count() const { return static_cast<int>(steps.size()); }
  constexpr int device_count() const { return static_cast<int>(limit.size()); }
  constexpr int stage_count() const { return static_cast<int>(device.size()); }
  // Lookups. All times are ticks; all indices exist.
  constexpr std::vector<int> const& on(int d) const { return nth(stages_of, d); }
  constexpr int device_of(int stage) const { return nth(device, stage); }
  constexpr int micro_batches_of(int stage) const { return nth(micro_batches, stage); }
  constexpr int direction(int k) const { return nth(steps, k).direction; }
  constexpr tick length(int k, int stage) const { return nth(nth(steps, k).length, stage); }
  // The time of the step beyond that, on all micro-batches, if they differ, and on a chunk of a
  // sequence.
  constexpr tick more(int k, int stage) const {
    std::vector<tick> const& all = nth(steps, k).more;
    return all.empty() ? 0 : nth(all, stage);
  }
  constexpr tick extra(int k, int stage, int piece) const {
    std::vector<tick> const& all = nth(steps, k).extra;
    return all.empty() ? 0 : nth(all, stage * sequence_chunks + piece);
  }
  // The stage that takes a step just before `stage` does; -1: none.
  constexpr int before(int k, int stage) const {
    int const other = stage - direction(k);
    bool const known = other >= 0 && other < stage_count() && direction(k) != 0;
    return known && other / route_length == stage / route_length ? other : -1;
  }
  // How many stages of the same device take the step before `stage` does, and must.
  constexpr int chunks_before(int k, int stage) const {
    auto const at = static_cast<std::size_t>(stage);
    int const way = direction(k);
    return way == 0 ? 0 : way > 0 ? chunk[at] : chunks[at] - 1 - chunk[at];
  }
  // The shortest of a step on a device that has stages.
  constexpr tick least_length(int k, int d) const {
    tick least = length(k, on(d)[0]);
    for (int stage : on(d)) least = length(k, stage) < least ? length(k, stage) : least;
    return least;
  }
  // How many times a device takes each step.
  constexpr int count_on(int d) const {
    int count = 0;
    for (int stage : on(d)) count += micro_batches_of(stage);
    return count;
  }
};

// The steps of a workload, in forward time. The workload is valid. O(stages · micro-batches).
constexpr flow flow_of(workload const& w, counted_span counted) {
  flow f;
  int const S = f.route_length = w.where.stage_count();
  f.stages_of.resize(static_cast<std::size_t>(w.where.device_count()));
  f.sequence_chunks = w.sequence_chunks;
  for (int route = 0; route < w.route_count(); ++route) {
    f.most_micro_batches = max_of(f.most_micro_batches, w.micro_batches_on(route));
    std::vector<int> met(f.stages_of.size(), 0);
    for (int stage = 0; stage < S; ++stage) {
      int const device = w.where.device_of(route, stage);
      f.device.push_back(device);
      f.micro_batches.push_back(w.micro_batches_on(route));
      f.chunk.push_back(nth(met, device)++);
      nth(f.stages_of, device).push_back(route * S + stage);
    }
    for (int stage = 0; stage < S; ++stage)
      f.chunks.push_back(nth(met, w.where.device_of(route, stage)));
  }
  for (int d = 0; d < w.where.device_count(); ++d) f.limit.push_back(activations_on(w, d, counted));

  bool again = false;
  for (int stage = 0; stage < S; ++stage) again = again || w.recomputes(stage);
  auto const add = [&](int direction, pass_kind kind) {
    f.gives = f.step_count();
    f.steps.push_back({.direction = direction, .length = {}});
    flow::step& step = f.steps.back();
    for (int route = 0; route < w.route_count(); ++route)
      for (int stage = 0; stage < S; ++stage) {
        bool const taken = kind != pass_kind::recompute || w.recomputes(stage);
        step.length.push_back(taken ? w.length(kind, stage, route) : 0);
        step.hop.push_back(stage == 0      ? 0
                           : direction > 0 ? w.hop(stage - 1, stage, route)
                                           : w.hop(stage, stage - 1, route));
        if (w.cost.passes.period() == 1) continue;
        tick all = 0;
        for (int chunk = 0; chunk < w.cost.passes.period(); ++chunk) {
          tick const extra = taken ? w.extra(kind, stage, chunk, route) : 0;
          all += extra;
          if (w.cost.passes.sequence_chunks() > 1) step.extra.push_back(extra);
        }
        if (w.cost.passes.sequence_chunks() == 1) step.more.push_back(all);
      }
  };
  add(+1, pass_kind::forward);
  if (w.mode == execution_mode::inference) return f;
  if (again) add(0, pass_kind::recompute);
  if (counted.from == pass_kind::recompute) f.takes = f.gives;
  add(-1, w.splits_backward ? pass_kind::backward_input : pass_kind::backward);
  if (!w.splits_backward) return f;
  int const input = f.gives;
  add(0, pass_kind::backward_weight);
  if (counted.to == pass_kind::backward_input) f.gives = input;
  return f;
}

// Reverses time: last step first, against the order of the stages. reversed(reversed(f)) == f.
constexpr flow reversed(flow f) {
  for (std::size_t i = 0, j = f.steps.size(); i + 1 < j; ++i) std::swap(f.steps[i], f.steps[--j]);
  for (flow::step& s : f.steps) s.direction = -s.direction;
  int const last = f.step_count() - 1, takes = f.takes;
  f.takes = last - f.gives;
  f.gives = last - takes;
  return f;
}

}  // namespace ashlar::bounding_detail
