#include <ashlar/cost/step/optimizer_state.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"
#include <ashlar/cost/model/weight_matrices.hpp>
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/step/memory.hpp>
#include <ashlar/cost/step/step.hpp>

#include <doctest/doctest.h>

// The names of cost/ are those of other files, too: tests are among them.
namespace ashlar::cost::testing::of_optimizers {

namespace {

question with(question q, optimizer update) {
  q.program.kind = program_kind::tuned;
  q.model.update = update;
  return q;
}

memory_parts memory(question const& q) { return memory_of(q, stages_of(q), round_constants())[0]; }

// Hidden 1024, 16 heads of 64, 8 of keys and values, gates and two more matrices 4096 wide.
constexpr double linear = 3 * 1024 * 1024 + 3 * 1024 * 4096.0, tables = 2 * 1024 * 32000.0, depth = 8,
                 all = depth * linear + tables;

// Numbers of 32 bits beside the optimizer's own weights.
double numbers(optimizer update) {
  return memory(with(asked(dense_model(8)), update)).optimizer / 4 - all;
}

}  // namespace

TEST_CASE("optimizer state: numbers of each parameter") {
  CHECK(numbers({}) == 2 * all);
  CHECK(numbers({.kind = optimizer_kind::nothing}) == 0);
  CHECK(numbers({.kind = optimizer_kind::means}) == all);
  CHECK(numbers({.kind = optimizer_kind::squares}) == all);
  CHECK(numbers({.kind = optimizer_kind::two_means}) == 3 * all);
}

TEST_CASE("optimizer state: numbers of each matrix, by hand") {
  CHECK(numbers({.kind = optimizer_kind::muon}) == all + tables);
  double const rows = 1024 + 2 * 512 + 1024 + 2 * 4096 + 1024,
               columns = 1024 + 2 * 1024 + 1024 + 2 * 1024 + 4096;
  CHECK(numbers({.kind = optimizer_kind::adafactor}) == depth * (rows + columns) + 2 * (32000 + 1024));
  // Queries and keys have one number a head.
  double const by_heads = 1024 + 512;
  CHECK(numbers({.kind = optimizer_kind::adam_mini})
        == all + depth * (rows - by_heads + 16 + 8) + 2 * 32000);
  // Longer and shorter sides of queries, keys, values, result, gate, up, down.
  double const longer = 4 * 1024 + 3 * 4096, shorter = 2 * 1024 + 2 * 512 + 3 * 1024,
               squared = 5 * 1024.0 * 1024 + 2 * 512.0 * 512;
  CHECK(numbers({.kind = optimizer_kind::galore, .rank = 8})
        == depth * (2 * 8 * longer + squared) + 2 * tables);
  CHECK(numbers({.kind = optimizer_kind::apollo, .rank = 8})
        == depth * (2 * 8 * longer + 8 * shorter) + 2 * tables);
  // Singular vectors are no more than the shorter side.
  CHECK(numbers({.kind = optimizer_kind::galore, .rank = 100000})
        == depth * (2 * (1024 * 1024 * 2 + 2 * 512 * 1024 + 3 * 1024.0 * 4096) + squared) + 2 * tables);
}

TEST_CASE("optimizer state: matrices that are one") {
  optimizer const fused{.kind = optimizer_kind::adafactor, .fuses_queries = true, .fuses_gates = true};
  double const rows = 2048 + 1024 + 2 * 4096 + 1024, columns = 1024 + 1024 + 1024 + 4096;
  CHECK(numbers(fused) == depth * (rows + columns) + 2 * (32000 + 1024));
  architecture a = dense_model(8);
  CHECK(knows_weight_matrices(a));
  a.kinds[0].mix.kind = mixer_kind::state_space;
  a.kinds[0].mix.inner = 2048;
  CHECK(!knows_weight_matrices(a));
}

TEST_CASE("optimizer state: formats, shards, and gradients that are freed at once") {
  question q = with(asked(dense_model(8)), {.kind = optimizer_kind::means});
  q.program.facts.say(fact::first_moment, static_cast<unsigned char>(moment_held::bits_8));
  CHECK(memory(q).optimizer == 5 * all);
  question at_once =
      with(asked(dense_model(8)), {.kind = optimizer_kind::galore, .rank = 8, .updates_at_once = true});
  CHECK(memory(at_once).gradients == 4 * tables / 2);
  question shared = with(asked(dense_model(8)), {.kind = optimizer_kind::muon});
  shared.layout.sharding = sharding::full;
  shared.program.kind = program_kind::sharded;
  CHECK(memory(shared).optimizer == 4 * (all + tables) / 8);
}

TEST_CASE("optimizer state: Muon's products take time, and more by itself than shared") {
  auto const seconds = [](optimizer_kind kind, sharding shares) {
    question q = with(asked(dense_model(8)), {.kind = kind});
    q.layout.sharding = shares;
    if (shares == sharding::full) q.program.kind = program_kind::sharded;
    return step_of(q, stages_of(q), round_constants()).optimizer;
  };
  CHECK(seconds(optimizer_kind::muon, sharding::full) > seconds(optimizer_kind::adam, sharding::full));
  CHECK(seconds(optimizer_kind::muon, sharding::none)
        > 6 * seconds(optimizer_kind::muon, sharding::full));
  question repeated = with(asked(dense_model(8)), {.kind = optimizer_kind::muon, .is_repeated = true});
  repeated.layout.sharding = sharding::full;
  repeated.program.kind = program_kind::sharded;
  CHECK(step_of(repeated, stages_of(repeated), round_constants()).optimizer
        > 6 * seconds(optimizer_kind::muon, sharding::full));
  CHECK(seconds(optimizer_kind::nothing, sharding::none)
        < seconds(optimizer_kind::adam, sharding::none));
}

}  // namespace ashlar::cost::testing::of_optimizers
