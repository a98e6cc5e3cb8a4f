// A layer that predicts the token after the next one: the same bits for every cut of the model, and a
// loss of its own that falls.
#include "support.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/catalog/graphs.hpp>
#include <ashlar/catalog/heads.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using gpt_test::predicting;
using gpt_test::predicting_apart;
using gpt_test::tensors;
using gpt_test::tiny;
using gpt_test::which;

TEST_CASE_TEMPLATE("a prediction layer's bits do not depend on how the model is cut and run", Scalar,
                   float, double) {
  using enum gpt::backward_form;
  auto const expected = gpt_test::outcome_of<Scalar>(predicting(tiny(1)));
  for (int const stages : {1, 2, 3})
    for (auto const backward : {fused, split})
      for (auto const memory : {gpt::memory_form::keep, gpt::memory_form::recompute})
        for (bool const apart : {false, true}) {
          if (apart && stages == 1) continue;
          gpt::config const shape = apart ? predicting_apart(tiny(stages)) : predicting(tiny(stages));
          CHECK(gpt_test::outcome_of<Scalar>(shape, backward, memory) == expected);
        }
  // It is a model of its own: the trunk learns for both losses.
  auto const alone = gpt_test::outcome_of<Scalar>(gpt_test::tied(tiny(1)));
  CHECK(alone.losses == expected.losses);
  CHECK(alone.gradients.at("block 0.qkv.weight") != expected.gradients.at("block 0.qkv.weight"));
  // A block has 2 norms and 4 linears of 2 tensors; there are 3 norms and a linear that joins.
  CHECK(expected.gradients.size() == alone.gradients.size() + 12 + 8);
}

TEST_CASE(
    "under schedules, data-parallel ranks and sharding, a prediction layer gives the sequential bits") {
  using enum gpt::prediction_place;
  using ashlar::catalog::one_f_one_b;
  struct kind {
    char const* name;
    int ranks;
    ashlar::sharding_level level;
  };
  for (kind const& r :
       {kind{"1f1b", 1, ashlar::sharding_level::none}, kind{"zb-h1", 1, ashlar::sharding_level::none},
        kind{"v-half", 1, ashlar::sharding_level::none},
        kind{"chimera", 1, ashlar::sharding_level::none}, kind{"1f1b", 2, ashlar::sharding_level::full}})
    for (auto const place : {with_head, behind_head, beside_head}) {
      if (place == beside_head && r.name != std::string("1f1b")) continue;  // of chains
      CAPTURE(r.name);
      CAPTURE(static_cast<int>(place));
      ashlar::schedule const s =
          place == beside_head
              ? one_f_one_b(ashlar::catalog::chain_with_heads(ashlar::stages{2}, 2),
                            ashlar::linear(ashlar::devices{4}), ashlar::micro_batches{4})
              : ashlar::catalog::find(r.name)->make({ashlar::devices{4}, ashlar::micro_batches{4}});
      gpt::config shape = predicting_apart(tiny(s.stage_count()), place);
      shape.micro_batches = 4;
      shape.data_ranks = r.ranks;
      ashlar::program const p = lower(
          s,
          {.data_ranks = r.ranks, .sharding = r.level, .shared_parameters = {gpt::tied_stages(shape)}});
      std::vector<std::unique_ptr<gpt::worker<float>>> all;
      std::vector<gpt::worker<float>*> run, alone;
      for (int rank = 0; rank < r.ranks; ++rank)
        for (auto const workers : {&run, &alone}) {
          all.push_back(std::make_unique<gpt::worker<float>>(shape, 3, gpt::site_in(p, rank)));
          all.back()->set_batch(gpt_test::batch_for(shape, static_cast<std::uint64_t>(rank)));
          workers->push_back(all.back().get());
        }
      ashlar::host::runtime(p, run).run();
      ashlar::sequential(p, alone).run();
      for (std::size_t rank = 0; rank < run.size(); ++rank) {
        CHECK(std::ranges::equal(run[rank]->prediction_losses(), alone[rank]->prediction_losses()));
        CHECK(std::ranges::equal(run[rank]->losses(), alone[rank]->losses()));
        CHECK(tensors(*run[rank], which::gradient) == tensors(*alone[rank], which::gradient));
        CHECK(run[rank]->copies_agree());
      }
      if (r.ranks > 1 || r.name == std::string("chimera")) continue;
      // Only gradients that several stages add to are summed in another order than in one stage.
      gpt::config whole = predicting(tiny(1));
      whole.micro_batches = 4;
      auto const expected = gpt_test::outcome_of<float>(whole);
      CHECK(std::ranges::equal(run[0]->losses(), expected.losses));
      for (auto const& [name, values] : tensors(*run[0], which::gradient))
        if (name != "embedding.tokens" && name != "head.bias")
          CHECK(values == expected.gradients.at(name));
    }
}

TEST_CASE("a prediction layer in a stage of its own takes memory from the last device, as sizes say") {
  gpt::config whole = predicting(tiny(4, 12)), apart = predicting_apart(tiny(4, 12));
  whole.micro_batches = apart.micro_batches = 8;
  auto const lowered = [](gpt::config const& shape) {
    return lower(ashlar::catalog::find("1f1b")->make({ashlar::devices{4}, ashlar::micro_batches{8}}),
                 {.shared_parameters = {gpt::tied_stages(shape)}});
  };
  using enum ashlar::slot_kind;
  gpt::worker<float> const a(whole, 1), b(apart, 1), plain(gpt_test::tied(tiny(4, 12)), 1);
  CHECK(a.parameters() == b.parameters());
  // Sizes without the trunk's last stage: three blocks and the norm; the head's bias is among the tied
  // parameters.
  std::size_t const bias = 256, layer = b.elements(3);
  CHECK(a.elements(3) - layer == plain.elements(3) - bias);
  CHECK(a.elements(4) == plain.elements(4) + bias);
  CHECK(b.elements(2) - b.elements(1) == a.elements(3) - layer - a.elements(2));
  // The stage of the head keeps what it does in a model without such a layer.
  gpt::worker<float> const three(gpt_test::tied(tiny(3, 12)), 1);
  for (auto const kind : {stash, weight_stash, activation, gradient, checkpoint})
    CHECK(b.bytes(kind, 2) == three.bytes(kind, 2));

  // So do, beside each other, the last stage and that of a head without blocks.
  gpt::worker<float> const c(predicting_apart(tiny(4, 12), gpt::prediction_place::beside_head), 1);
  gpt::worker<float> const bare(gpt_test::tied(tiny(2, 0)), 1);
  CHECK(c.parameters() == b.parameters());
  CHECK(c.elements(2) == bare.elements(1) - bias);
  for (auto const kind : {stash, weight_stash, activation, gradient, checkpoint}) {
    CHECK(c.bytes(kind, 2) == bare.bytes(kind, 1));
    CHECK(c.bytes(kind, 3) == b.bytes(kind, 3));
  }

  ashlar::program const before = lowered(whole), after = lowered(apart);
  REQUIRE(check(before).ok());
  REQUIRE(check(after).ok());
  CHECK(after.groups.holders(4).size() == 3);
  std::size_t const parameters = (a.elements(3) - layer) * sizeof(float),
                    kept = a.bytes(stash, 3) - b.bytes(stash, 3),
                    left = a.bytes(weight_stash, 3) - b.bytes(weight_stash, 3);
  CHECK(kept > 3 * (a.bytes(stash, 1) - plain.bytes(stash, 1)) + gpt::vocabulary * sizeof(float));
  // Weights, their gradient twice, two moments; one micro-batch at a time, in two backward passes.
  CHECK(gpt_test::bytes_of_devices(whole, before)[3] - gpt_test::bytes_of_devices(apart, after)[3]
        == 5 * parameters + kept + left);
}

TEST_CASE("a prediction layer learns") {
  gpt::config shape = predicting(tiny(2));
  gpt::worker<float> w(shape, 3);
  w.set_batch(gpt_test::batch_for(shape));
  gpt::sequential<float> run(w);
  run.step();
  double const first = mean_loss(shape, w.prediction_losses());
  for (int step = 0; step < 30; ++step) {
    run.step();
    gpt::update<float>({&w}, {.rate = 1e-2});
  }
  CHECK(first > 5);
  CHECK(mean_loss(shape, w.prediction_losses()) < first / 2);
}

TEST_CASE("a prediction layer needs what it reads") {
  gpt::config const right = predicting(tiny(2));
  CHECK_NOTHROW(require_valid(right));
  CHECK_NOTHROW(require_valid(predicting_apart(tiny(2))));
  CHECK_NOTHROW(require_valid(predicting_apart(tiny(3), gpt::prediction_place::beside_head)));
  for (auto const change :
       {+[](gpt::config& c) { c.tied = false; }, +[](gpt::config& c) { c.context = 1; },
        +[](gpt::config& c) { c.experts = c.chosen = 2; },
        +[](gpt::config& c) { c.predicted = gpt::prediction_place::behind_head, c.stages = 1; },
        +[](gpt::config& c) { c.predicted = gpt::prediction_place::beside_head; },
        +[](gpt::config& c) { c.predicted = gpt::prediction_place::behind_head, c.predicts = false; }}) {
    gpt::config wrong = right;
    change(wrong);
    CHECK_THROWS_AS(require_valid(wrong), std::invalid_argument);
  }
}
