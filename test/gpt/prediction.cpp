// A layer that predicts the token after the next one: the same bits however the model is cut, and a loss
// of its own that falls.
#include "support.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

using gpt_test::predicting;
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
        CHECK(gpt_test::outcome_of<Scalar>(predicting(tiny(stages)), backward, memory) == expected);
  // It is a model of its own: the trunk learns for both losses.
  auto const alone = gpt_test::outcome_of<Scalar>(gpt_test::tied(tiny(1)));
  CHECK(alone.losses == expected.losses);
  CHECK(alone.gradients.at("block 0.qkv.weight") != expected.gradients.at("block 0.qkv.weight"));
  // Per block 2 norms and 4 linears of 2 tensors; 3 norms and a linear that joins.
  CHECK(expected.gradients.size() == alone.gradients.size() + 12 + 8);
}

TEST_CASE(
    "under schedules, data-parallel ranks and sharding, a prediction layer gives the sequential bits") {
  struct kind {
    char const* name;
    int ranks;
    ashlar::sharding_level level;
  };
  for (kind const& r :
       {kind{"1f1b", 1, ashlar::sharding_level::none}, kind{"zb-h1", 1, ashlar::sharding_level::none},
        kind{"v-half", 1, ashlar::sharding_level::none},
        kind{"1f1b", 2, ashlar::sharding_level::full}}) {
    CAPTURE(r.name);
    ashlar::schedule const s =
        ashlar::catalog::find(r.name)->make({ashlar::devices{2}, ashlar::micro_batches{4}});
    ashlar::program const p = lower(
        s,
        {.data_ranks = r.ranks, .sharding = r.level, .shared_parameters = {{0, s.stage_count() - 1}}});
    gpt::config shape = predicting(tiny(s.stage_count()));
    shape.micro_batches = 4;
    shape.data_ranks = r.ranks;
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
    }
  }
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
  for (auto const change :
       {+[](gpt::config& c) { c.tied = false; }, +[](gpt::config& c) { c.context = 1; },
        +[](gpt::config& c) { c.experts = c.chosen = 2; }}) {
    gpt::config wrong = right;
    change(wrong);
    CHECK_THROWS_AS(require_valid(wrong), std::invalid_argument);
  }
}
