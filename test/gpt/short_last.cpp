// A batch that the micro-batches do not divide: the last one is shorter.
#include "support.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

using gpt_test::tensors;
using gpt_test::tiny;
using gpt_test::which;

namespace {

gpt::config short_last(gpt::config shape, int micro_batches = 3) {
  shape.micro_batches = micro_batches;
  shape.sequences = 3;
  shape.last_sequences = 1;
  return shape;
}

// Five sequences, as five micro-batches.
template <class Scalar>
gpt_test::outcome<Scalar> one_by_one(gpt::config shape) {
  shape.micro_batches = shape.tokens() / shape.context;
  shape.sequences = 1;
  shape.last_sequences = 0;
  return gpt_test::outcome_of<Scalar>(shape);
}

TEST_CASE("short last: losses and gradients are the means over all tokens") {
  for (int const stages : {1, 2}) {
    gpt::config const shape = short_last(tiny(stages));
    CHECK(shape.tokens() == 7 * shape.context);
    auto const found = gpt_test::outcome_of<double>(shape), expected = one_by_one<double>(shape);
    REQUIRE((found.losses.size() == 3 && expected.losses.size() == 7));
    for (int k = 0; k < 3; ++k) {
      double sum = 0;
      for (int i = 3 * k; i < std::min(3 * k + 3, 7); ++i)
        sum += expected.losses[static_cast<std::size_t>(i)];
      CHECK(found.losses[static_cast<std::size_t>(k)] == doctest::Approx(sum / (k < 2 ? 3 : 1)));
    }
    double mean = 0;
    for (double const loss : expected.losses) mean += loss / 7;
    CHECK(gpt::mean_loss(shape, found.losses) == doctest::Approx(mean).epsilon(1e-12));
    for (auto const& [name, values] : expected.gradients) {
      auto const& own = found.gradients.at(name);
      REQUIRE(own.size() == values.size());
      for (std::size_t i = 0; i < values.size(); ++i)
        CHECK(std::abs(own[i] - values[i]) <= 1e-14 + 1e-11 * std::abs(values[i]));
    }
  }
}

TEST_CASE("short last: how a backward comes changes no bit") {
  gpt::config const shape = short_last(tiny(2));
  auto const plain = gpt_test::outcome_of<float>(shape);
  CHECK(gpt_test::outcome_of<float>(shape, gpt::backward_form::split) == plain);
  CHECK(gpt_test::outcome_of<float>(shape, gpt::backward_form::split, gpt::memory_form::recompute)
        == plain);
}

TEST_CASE("short last: a last micro-batch as long as the others is as if nothing was said") {
  gpt::config told = tiny(2);
  told.last_sequences = told.sequences;
  CHECK(gpt_test::outcome_of<float>(told) == gpt_test::outcome_of<float>(tiny(2)));
}

TEST_CASE("short last: every schedule gives the bits of the sequential model") {
  for (ashlar::catalog::entry const& e : ashlar::catalog::entries) {
    if (!e.check({ashlar::devices{2}, ashlar::micro_batches{4}}).ok()) continue;
    ashlar::program const p = lower(e.make({ashlar::devices{2}, ashlar::micro_batches{4}}));
    if (p.mode == ashlar::execution_mode::inference) continue;
    CAPTURE(e.name);
    gpt::config shape = short_last(tiny(p.stage_count()), p.micro_batch_count());
    gpt::worker<float> expected(shape, 3, gpt::site_in(p, 0)), found(shape, 3, gpt::site_in(p, 0));
    expected.set_batch(gpt_test::batch_for(shape));
    found.set_batch(gpt_test::batch_for(shape));
    std::vector<gpt::worker<float>*> const sequential_ranks{&expected}, host_ranks{&found};
    ashlar::sequential reference(p, sequential_ranks);
    ashlar::host::runtime runtime(p, host_ranks);
    reference.run();
    runtime.run();
    CHECK(std::ranges::equal(found.losses(), expected.losses()));
    CHECK(tensors(found, which::gradient) == tensors(expected, which::gradient));
  }
}

TEST_CASE("short last: shapes that there are not") {
  gpt::config shape = tiny(1);
  shape.last_sequences = 3;
  CHECK_THROWS_WITH_AS(gpt::require_valid(shape),
                       "the last micro-batch may be shorter than the others, not longer: 3 sequences "
                       "after 2",
                       std::invalid_argument);
  shape.last_sequences = 1;
  shape.experts = 2;
  CHECK_THROWS_WITH_AS(gpt::require_valid(shape), "a model with experts needs micro-batches of one size",
                       std::invalid_argument);
}

}  // namespace
