// Definitions of programs.hpp.
#pragma once

#include <ashlar/block/algebra.hpp>
#include <ashlar/catalog/entries.hpp>
#include <ashlar/catalog/graphs.hpp>
#include <ashlar/catalog/input_shards.hpp>
#include <ashlar/catalog/vocabulary_entries.hpp>
#include <ashlar/conformance/programs.hpp>
#include <ashlar/conformance/random_schedule.hpp>
#include <ashlar/conformance/random_work.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/residency_rules.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/values/clip.hpp>

#include <cstdint>
#include <utility>

namespace ashlar::conformance {

ASHLAR_INLINE std::vector<sample_program> sample_programs() {
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

  for (catalog::entry const& e : catalog::vocabulary_entries)
    for (auto [p, m] : {std::pair{1, 2}, {2, 4}, {3, 5}, {4, 8}}) {
      std::string const name =
          std::string(e.name) + " p=" + std::to_string(p) + " m=" + std::to_string(m);
      catalog::shape const shape{devices{p}, micro_batches{m},
                                 costs(stage_cost{.forward = 2, .backward_input = 3}, 1)};
      add(name, e.make(shape));
      add(name + " with work", with_random_work(e.make(shape), static_cast<std::uint64_t>(p), 4));
      block const one = e.block_of(shape);
      add(name + ", split", split_backward(one) | repeat(shape.m) | squeeze());
      add(name + ", recompute", recompute(one) | repeat(shape.m) | squeeze());
      add(name + ", input layer in shards", catalog::with_input_shards(e.make(shape)));
    }

  catalog::shape four{devices{4}, micro_batches{8}};
  four.routes = 4;
  four.junction = catalog::unit_junction::figure;
  add("chimera over four routes", catalog::find("chimera")->make(four));
  add("bitpipe as in the figure", catalog::find("bitpipe")->make(four));
  add("every kind of pair", catalog::stp(devices{3}, micro_batches{8}) | squeeze());

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
  for (std::vector<module_grid> const& grids : {std::vector<module_grid>{{stages{1}, 2}, {stages{2}}},
                                                {{stages{1}}, {stages{1}, 3}},
                                                {{stages{2}}, {stages{1}, 2}},
                                                {{stages{1}, 2}, {stages{1}, 3}}})
    for (int size : {1, 2, 4}) {
      placement const where = in_grids(grids);
      std::vector<int> sizes(static_cast<std::size_t>(where.stage_count()), 1);
      for (int stage = 0; stage < grids[0].length.value; ++stage) nth(sizes, stage) = size;
      add("modules of " + std::to_string(grids[0].replicas) + " and " + std::to_string(grids[1].replicas)
              + " replicas on " + std::to_string(where.device_count()) + " devices, "
              + std::to_string(size) + " at once",
          catalog::grids_one_f_one_b(in_micro_batches(chain(stages{where.stage_count()}), sizes), grids,
                                     micro_batches{2 * size * where.route_count()}));
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
    add("random graph " + std::to_string(seed), random_graph_schedule(seed));
    add("random graph " + std::to_string(seed) + " with work",
        with_random_work(random_graph_schedule(seed), seed, 4));
    if (schedule const s = random_graph_schedule(seed); !s.graph.has_sizes())
      add("random graph " + std::to_string(seed) + " with clipped micro-batches", clip_micro_batches(s));
  }
  for (char const* name : {"1f1b", "1f1b-recompute", "zb-h1", "v-half", "dualpipe", "chimera"})
    add(name + std::string(" with work"),
        with_random_work(catalog::find(name)->make({devices{4}, micro_batches{8}}), 7, 8));
  return all;
}

namespace conformance_detail {

inline std::vector<sample_program> offloaded(lower_options const& all_have) {
  std::vector<sample_program> all;
  int turn = 0;
  auto const add = [&](std::string const& name, schedule const& s) {
    if (s.mode == execution_mode::inference) return;
    for (int const every : {1, 2}) {
      ++turn;
      lower_options options = all_have;
      options.lanes = static_cast<transfer_lanes>(turn % 3);
      options.transfers = turn % 5 == 0 ? transfer_order::asap : transfer_order::finish_time;
      options.offload.copy = {turn % 3};
      int number = 0;
      for (auto const& order : s.order)
        for (timed_pass const t : each_pass(order))
          if (t.what.kind == pass_kind::forward && number++ % every == 0)
            options.offload.forwards.push_back(t.what);
      all.push_back({name + ", every " + std::to_string(every) + " away", lower(s, options)});
    }
  };
  for (catalog::entry const& e : catalog::entries)
    for (auto [p, m] : {std::pair{1, 3}, {2, 4}, {4, 8}})
      if (catalog::shape const shape{devices{p}, micro_batches{m},
                                     costs(stage_cost{.forward = 2, .backward_input = 3}, 1)};
          e.check(shape).ok())
        add(std::string(e.name) + " p=" + std::to_string(p) + " m=" + std::to_string(m), e.make(shape));
  for (int p : {2, 3})
    add("recompute p=" + std::to_string(p),
        recompute(catalog::zb_h1(devices{p})) | repeat(micro_batches{5}) | squeeze());
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    add("random " + std::to_string(seed), random_schedule(seed));
    add("random " + std::to_string(seed) + " in chunks", random_schedule(seed, 2));
    add("random graph " + std::to_string(seed), random_graph_schedule(seed));
  }
  return all;
}

}  // namespace conformance_detail

ASHLAR_INLINE std::vector<sample_program> programs_that_offload() {
  return conformance_detail::offloaded({});
}

ASHLAR_INLINE std::vector<sample_program> programs_of_ranks_that_offload() {
  return conformance_detail::offloaded(
      {.data_ranks = 2, .sharding = sharding_level::full, .step = optimizer_step::after_norm});
}

ASHLAR_INLINE std::vector<sample_program> programs_of_ranks() {
  std::vector<sample_program> all;
  int turn = 0;
  auto const add = [&](catalog::entry const& e) {
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
        residency weights;
        if (level != sharding_level::none && turn / 5 % 2 == 1)
          weights = planned_residency(s, {.stages = 1 + turn / 2 % 2,
                                          .lookahead = 1 + turn / 4 % 2,
                                          .passes_ahead = turn % 5,
                                          .window = turn % 3 == 0});
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
                                 .weights = std::move(weights),
                                 .step = s.mode == execution_mode::training
                                             ? static_cast<optimizer_step>(turn / 3 % 3)
                                             : optimizer_step::none,
                                 .shared_parameters = std::move(shared)})});
      }
    }
  };
  for (catalog::entry const& e : catalog::entries) add(e);
  for (catalog::entry const& e : catalog::vocabulary_entries) add(e);
  return all;
}

}  // namespace ashlar::conformance
