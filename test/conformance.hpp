// What every backend has to pass: programs of all kinds give, bit by bit, the losses and gradients of
// the sequential reference. `run(program, worker)` runs one step of the backend, `run(program, workers)`
// one of data-parallel ranks.
#pragma once

#include "data_parallel_ranks.hpp"
#include "small_network.hpp"
#include <ashlar/block/algebra.hpp>
#include <ashlar/catalog/entries.hpp>
#include <ashlar/host/sequential.hpp>
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace test {

struct sample_program {
  std::string name;
  ashlar::program program;
};

// Every entry of the catalog in several sizes and with both kinds of transfer lanes, and what no entry
// has yet: replicas of a split backward, recomputation, stages that fork and join.
inline std::vector<sample_program> sample_programs() {
  using namespace ashlar;
  std::vector<sample_program> all;
  auto const add = [&](std::string const& name, schedule const& s) {
    for (transfer_lanes lanes : {transfer_lanes::one, transfer_lanes::one_a_peer})
      all.push_back(
          {name + (lanes == transfer_lanes::one ? ", one lane" : ", a lane a peer"), lower(s, {lanes})});
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
  block const chain = catalog::one_f_one_b(devices{4});
  add("fork and join", chain | with_graph(stage_graph(stages{4}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}))
                           | repeat(micro_batches{4}) | squeeze());
  return all;
}

// Two data-parallel ranks: every entry of the catalog at every sharding level, with all times of
// reduction, one buffer and two, gathers near and far ahead, and optimizer steps.
inline std::vector<sample_program> programs_of_ranks() {
  using namespace ashlar;
  std::vector<sample_program> all;
  int turn = 0;
  for (catalog::entry const& e : catalog::entries)
    for (auto [p, m] : {std::pair{2, 4}, {4, 4}, {3, 6}}) {
      catalog::shape const shape{devices{p}, micro_batches{m}};
      if (!e.check(shape).ok()) continue;
      for (sharding_level level : {sharding_level::none, sharding_level::optimizer,
                                   sharding_level::gradients, sharding_level::full}) {
        ++turn;
        std::string const size = " p=" + std::to_string(p) + " m=" + std::to_string(m);
        all.push_back({e.name + size + " sharded " + std::to_string(static_cast<int>(level)) + ", turn "
                           + std::to_string(turn),
                       lower(e.make(shape),
                             {.lanes = turn % 2 == 0 ? transfer_lanes::one : transfer_lanes::one_a_peer,
                              .data_ranks = 2,
                              .reduction = static_cast<gradient_reduction>(turn % 3),
                              .sharding = level,
                              .weight_buffers = 1 + turn / 2 % 2,
                              .prefetch = turn % 3,
                              .step = e.make(shape).mode == execution_mode::training
                                          ? static_cast<optimizer_step>(turn / 3 % 3)
                                          : optimizer_step::none})});
      }
    }
  return all;
}

template <class Run>
void conforms(Run run) {
  std::uint64_t seed = 1;
  for (sample_program const& sample : sample_programs()) {
    CAPTURE(sample.name);
    small_network network(sample.program.stage_count(), sample.program.micro_batch_count());
    ashlar::host::sequential(sample.program, network).run();
    small_network::outcome const expected = network.take();

    network.delays = seed++;
    run(sample.program, network);
    for (int stage = 0; stage < sample.program.stage_count(); ++stage)
      CHECK(network.reductions(stage)
            == (sample.program.mode == ashlar::execution_mode::training
                    ? static_cast<int>(sample.program.groups.holders(stage).size())
                    : 0));
    CHECK(network.take() == expected);
  }
}

// Gradients, losses, weights and norms of two steps.
template <class Run>
void ranks_conform(Run run) {
  std::uint64_t seed = 1;
  for (sample_program const& sample : programs_of_ranks()) {
    CAPTURE(sample.name);
    ashlar::program const& p = sample.program;
    data_parallel_ranks expected(p), found(p);
    found.spoil();
    found.delay(seed++);
    ashlar::host::sequential reference(p, expected.workers());
    for (int step = 0; step < 2; ++step) {
      reference.run();
      run(p, found.workers());
      for (int stage = 0; stage < p.stage_count(); ++stage) {
        CHECK(found.gradient(stage) == expected.gradient(stage));
        CHECK(found.gradient(stage).size() == (p.mode == ashlar::execution_mode::training ? 9 : 0));
        CHECK(found.weights(stage) == expected.weights(stage));
      }
      for (std::size_t rank = 0; rank < 2; ++rank) {
        CHECK(found.workers()[rank]->norm() == expected.workers()[rank]->norm());
        CHECK(found.workers()[rank]->take().losses == expected.workers()[rank]->take().losses);
      }
    }
  }
}

}  // namespace test
