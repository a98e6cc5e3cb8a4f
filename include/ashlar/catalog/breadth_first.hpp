// Breadth-first: on the looped placement, all micro-batches through one chunk before the next chunk
// begins. Lamy-Poirier: Breadth-First Pipeline Parallelism (2022), section 4 and appendix.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/catalog/shape.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

namespace ashlar::catalog {

// Rounds of as many micro-batches each.
constexpr diagnosis check_rounds(shape const& s) {
  if (diagnosis const d = check_chunks(s); !d.ok()) return d;
  if (diagnosis const d = at_least(parameter::round_count, s.rounds, 1); !d.ok()) return d;
  return multiple_of(parameter::micro_batch_count, s.m.value, s.rounds);
}

// The micro-batches are dealt to rounds that run one after another: micro-batch k belongs to round k mod
// `rounds`, and the block has one of each; repeat it m / rounds times. With one round it is
// breadth-first itself, with one chunk too it is GPipe.
// Each chunk, forward and then backward in reverse, has a phase to itself, long enough for all
// micro-batches of the round to follow each other through the devices. Every device has three ticks an
// interval for each chunk and round, in which it works on that chunk as in 1F1B's block.
constexpr block breadth_first(devices p, chunks v, micro_batches m, int rounds = 1) {
  must_be(check_rounds({.p = p, .m = m, .v = v, .rounds = rounds}));
  block b{.graph = chain(stages{p.value * v.value}),
          .where = looped(p, v),
          .route = std::vector<int>(static_cast<std::size_t>(rounds), 0),
          .cost = {},
          .interval = 3 * tick{v.value} * rounds,
          .cells = {}};
  tick const down_and_up = 3 * tick{p.value};
  tick const phase = b.interval * (m.value / rounds + (down_and_up - 1) / b.interval + 1);
  for (int round = 0; round < rounds; ++round)
    for (int stage = 0; stage < p.value * v.value; ++stage) {
      int const c = stage / p.value, d = stage % p.value;
      auto const begin = [=](int n) {  // of the chunk that runs n-th
        return 2 * phase * v.value * round + phase * n + 3 * (tick{v.value} * round + n % v.value);
      };
      b.cells.push_back({{pass_kind::forward, stage, round}, begin(c) + d});
      b.cells.push_back({{pass_kind::backward, stage, round},
                         begin(2 * v.value - 1 - c) + p.value + 2 * tick{p.value - 1 - d}});
    }
  return b;
}

// The block repeated, the micro-batches numbered in the order in which they run: round after round.
constexpr schedule breadth_first_in_rounds(shape const& s) {
  schedule made = repeat(breadth_first(s.p, s.v, s.m, s.rounds), s.m);
  for (auto& order : made.order)
    for (time_slot& t : order) {
      int& k = t.what.micro_batch;
      k = k % s.rounds * (s.m.value / s.rounds) + k / s.rounds;
    }
  return made;
}

// Breadth-first whose backwards take the last micro-batch first: PyTorch's ScheduleLoopedBFS. Each
// device runs all forwards before a backward, so that passes start when those of breadth-first do.
constexpr schedule looped_bfs(shape const& s) {
  schedule made = repeat(breadth_first(s.p, s.v, s.m), s.m);
  for (auto& order : made.order)
    for (time_slot& t : order)
      if (t.what.kind == pass_kind::backward) t.what.micro_batch = s.m.value - 1 - t.what.micro_batch;
  return made;
}

}  // namespace ashlar::catalog
