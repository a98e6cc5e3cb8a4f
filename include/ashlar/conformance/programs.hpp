// Programs of all kinds, for whoever runs programs.
#pragma once

#include <ashlar/block/algebra.hpp>
#include <ashlar/catalog/entries.hpp>
#include <ashlar/conformance/random_work.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace ashlar::conformance {

struct sample_program {
  std::string name;
  ashlar::program program;
};

// A schedule in which every device does at random whatever it can do next: stages anywhere, some of them
// recomputed, backwards fused or split, sequences whole or in chunks. Any schedule of a chain on one
// route can come of it.
inline schedule random_schedule(std::uint64_t seed, int sequence_chunks = 1) {
  std::mt19937_64 engine(seed);
  auto const below = [&](int n) { return static_cast<int>(engine() % static_cast<std::uint64_t>(n)); };
  int const p = 1 + below(4), stages = 1 + below(6), q = sequence_chunks, m = q * (1 + below(5));
  std::vector<int> device_of;
  for (int s = 0; s < stages; ++s) device_of.push_back(below(p));
  bool const fused = below(2) == 0;
  std::vector<char> recomputed;
  for (int s = 0; s < stages; ++s) recomputed.push_back(below(4) == 0 ? 1 : 0);
  // Each micro-batch goes down the chain and back; beside that, recompute and weight passes.
  std::vector<int> open, steps(static_cast<std::size_t>(m), 0);
  for (int k = 0; k < m; ++k) open.push_back(k);
  std::vector<pass> others;  // that could run
  std::vector<std::vector<pass>> orders(static_cast<std::size_t>(p));
  auto const run = [&](pass what) {
    orders[static_cast<std::size_t>(device_of[static_cast<std::size_t>(what.stage)])].push_back(what);
  };
  auto const stage_of = [&](int step) { return step < stages ? step : 2 * stages - 1 - step; };
  auto const has_come = [&](int k, int step) { return steps[static_cast<std::size_t>(k)] > step; };
  auto const is_ready = [&](int k) {
    int const step = steps[static_cast<std::size_t>(k)];
    if (step < stages) return k % q == 0 || has_come(k - 1, step);
    pass const again{pass_kind::recompute, stage_of(step), k};
    return (k % q == q - 1 || has_come(k + 1, step))
           && std::find(others.begin(), others.end(), again) == others.end();
  };
  while (!open.empty() || !others.empty()) {
    int const pick = below(static_cast<int>(open.size() + others.size()));
    if (auto const at = static_cast<std::size_t>(pick); at < open.size()) {
      int const k = open[at];
      if (!is_ready(k)) continue;
      int const step = steps[static_cast<std::size_t>(k)]++, stage = stage_of(step);
      if (step < stages) {
        run({pass_kind::forward, stage, k});
        if (recomputed[static_cast<std::size_t>(stage)] != 0)
          others.push_back({pass_kind::recompute, stage, k});
      } else {
        run({fused ? pass_kind::backward : pass_kind::backward_input, stage, k});
        if (!fused) others.push_back({pass_kind::backward_weight, stage, k});
      }
      if (step + 1 == 2 * stages) open.erase(open.begin() + pick);
    } else {
      auto const which = others.begin() + (pick - static_cast<int>(open.size()));
      run(*which);
      others.erase(which);
    }
  }
  schedule s = schedule_from_orders(
      placement(devices{p}, {device_of}), std::vector<int>(static_cast<std::size_t>(m), 0),
      costs(stage_cost{1 + below(3), 1 + below(3), 1 + below(3)}, below(3)), orders);
  s.graph = in_sequence_chunks(s.graph, q);
  return squeeze(s);
}

// Every entry of the catalog in several sizes and with all kinds of transfer lanes, what no entry has
// (replicas of a split backward, recomputation, stages that fork and join, parameters in common, work,
// sequences in more than two chunks), and random orders.
inline std::vector<sample_program> sample_programs() {
  std::vector<sample_program> all;
  auto const add = [&](std::string const& name, schedule const& s) {
    all.push_back({name + ", one lane", lower(s)});
    all.push_back({name + ", one lane per peer", lower(s, {transfer_lanes::one_a_peer})});
    all.push_back(
        {name + ", one lane per peer and direction", lower(s, {transfer_lanes::one_a_direction})});
  };
  for (catalog::entry const& e : catalog::entries)
    for (auto [p, m] : {std::pair{1, 1}, {1, 3}, {2, 1}, {2, 4}, {3, 5}, {4, 4}, {4, 8}})
      if (catalog::shape const shape{devices{p}, micro_batches{m},
                                     costs(stage_cost{.forward = 2, .backward_input = 3}, 1)};
          e.check(shape).ok())
        add(std::string(e.name) + " p=" + std::to_string(p) + " m=" + std::to_string(m), e.make(shape));

  catalog::shape four{devices{4}, micro_batches{8}};
  four.routes = 4;
  four.junction = catalog::unit_junction::figure;
  add("chimera over four routes", catalog::find("chimera")->make(four));
  add("bitpipe as in the figure", catalog::find("bitpipe")->make(four));

  for (int p : {2, 3, 4}) {
    block const down = catalog::zb_h1(devices{p}) | with_interval(6);
    add("both ways p=" + std::to_string(p),
        overlay(down, shift(mirror(down), 3)) | repeat(micro_batches{6}) | squeeze());
    add("recompute p=" + std::to_string(p),
        recompute(catalog::one_f_one_b(devices{p})) | repeat(micro_batches{4}) | squeeze());
  }
  for (int q : {3, 4}) {
    block const chunks = catalog::seq1f1b(devices{3}, q);
    micro_batches const m{2 * q};
    add("seq1f1b q=" + std::to_string(q), chunks | repeat(m) | squeeze());
    add("seq1f1b, split, q=" + std::to_string(q), split_backward(chunks) | repeat(m) | squeeze());
    add("seq1f1b, recompute, q=" + std::to_string(q), recompute(chunks) | repeat(m) | squeeze());
  }
  block const chain = catalog::one_f_one_b(devices{4});
  add("fork and join", chain | with_graph(stage_graph(stages{4}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}))
                           | repeat(micro_batches{4}) | squeeze());
  for (char const* name : {"1f1b", "zb-h1", "v-half", "dualpipe", "chimera"}) {
    schedule const s = catalog::find(name)->make({devices{4}, micro_batches{8}});
    int const last = s.stage_count() - 1;
    all.push_back({std::string(name) + ", first and last stage tied",
                   lower(s, {.shared_parameters = {{0, last}}})});
    all.push_back({std::string(name) + ", two groups tied, reduced at the end",
                   lower(s, {.reduction = gradient_reduction::at_end,
                             .shared_parameters = {{0, 1, last}, {last, 2}}})});
  }
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    add("random " + std::to_string(seed), random_schedule(seed));
    add("random " + std::to_string(seed) + " with work",
        with_random_work(random_schedule(seed), seed, 4));
    int const q = 2 + static_cast<int>(seed % 2);
    add("random " + std::to_string(seed) + " in chunks", random_schedule(seed, q));
    add("random " + std::to_string(seed) + " in chunks, with work",
        with_random_work(random_schedule(seed, q), seed, 4));
  }
  for (char const* name : {"1f1b", "1f1b-recompute", "zb-h1", "v-half", "dualpipe", "chimera"})
    add(name + std::string(" with work"),
        with_random_work(catalog::find(name)->make({devices{4}, micro_batches{8}}), 7, 8));
  return all;
}

// Two data-parallel ranks: every entry of the catalog at every sharding level, with all times of
// reduction, one buffer and two, gathers near and far ahead, and optimizer steps; in every other program
// the first and the last stage have parameters in common, in some of them others, too; every
// fifth has work that keeps nothing from step to step.
inline std::vector<sample_program> programs_of_ranks() {
  std::vector<sample_program> all;
  int turn = 0;
  for (catalog::entry const& e : catalog::entries)
    for (auto [p, m] : {std::pair{2, 4}, {4, 4}, {3, 6}}) {
      catalog::shape const shape{devices{p}, micro_batches{m}};
      if (!e.check(shape).ok()) continue;
      for (sharding_level level :
           {sharding_level::none, sharding_level::optimizer, sharding_level::gradients,
            sharding_level::weights, sharding_level::full}) {
        ++turn;
        std::string const size = " p=" + std::to_string(p) + " m=" + std::to_string(m);
        bool const works = turn % 5 == 0;
        schedule s = e.make(shape);
        if (works) s = with_random_work(s, static_cast<std::uint64_t>(turn), 4, false);
        int const last = s.stage_count() - 1;
        std::vector<std::vector<int>> shared;
        if ((turn + turn / 4) % 2 == 0) shared.push_back({0, last});
        if (turn % 5 == 0 && last > 1) shared.push_back({last, 1});
        all.push_back({e.name + size + (works ? " with work" : "") + " sharded "
                           + std::to_string(static_cast<int>(level)) + ", turn " + std::to_string(turn)
                           + ", groups in common " + std::to_string(shared.size()),
                       lower(s, {.lanes = static_cast<transfer_lanes>(turn % 3),
                                 .data_ranks = 2,
                                 .reduction = static_cast<gradient_reduction>(turn % 3),
                                 .sharding = level,
                                 .weight_buffers = 1 + turn / 2 % 2,
                                 .prefetch = turn % 3,
                                 .step = s.mode == execution_mode::training
                                             ? static_cast<optimizer_step>(turn / 3 % 3)
                                             : optimizer_step::none,
                                 .shared_parameters = std::move(shared)})});
      }
    }
  return all;
}

}  // namespace ashlar::conformance
