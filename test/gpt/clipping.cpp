// Micro-batch clipping beside the passes gives what its formula gives, and on devices the bits of the
// sequential run, for one rank and for two.
#include "gpt/batch_values.hpp"
#include "gpt/worker.hpp"
#include "support.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>
#include <ashlar/values/clip.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace {

using clipping = gpt::worker<double>;

ashlar::program clipped_program(char const* name, int ranks) {
  ashlar::schedule const s =
      ashlar::catalog::find(name)->make({ashlar::devices{3}, ashlar::micro_batches{6}});
  return lower(clip_micro_batches(s), {.data_ranks = ranks});
}

// A worker for each rank of a program.
class clipped_ranks {
 public:
  clipped_ranks(ashlar::program const& p, std::optional<double> threshold) {
    gpt::config shape = gpt_test::tiny(p.stage_count());
    shape.micro_batches = p.micro_batch_count();
    shape.data_ranks = p.data_ranks;
    for (int rank = 0; rank < p.data_ranks; ++rank)
      all_.push_back(std::make_unique<clipping>(shape, 3, gpt::site_in(p, rank),
                                                gpt::values_work{p.work, threshold}));
  }
  std::vector<clipping*> list() const {
    std::vector<clipping*> pointers;
    for (auto const& w : all_) pointers.push_back(w.get());
    return pointers;
  }
  clipping& operator[](std::size_t rank) const { return *all_[rank]; }
  gpt::batch batch(std::uint64_t step, std::size_t rank) const {
    return gpt_test::batch_for(all_[0]->shape(), step * all_.size() + rank);
  }
  void set_batch(std::uint64_t step) const {
    for (std::size_t rank = 0; rank < all_.size(); ++rank) all_[rank]->set_batch(batch(step, rank));
  }

 private:
  std::vector<std::unique_ptr<clipping>> all_;
};

// The gradient of each micro-batch's mean loss by a model of one micro-batch, all stages one after the
// other.
std::vector<std::vector<double>> micro_gradients(clipped_ranks const& of, std::uint64_t step) {
  gpt::config shape = of[0].shape();
  int const count = shape.micro_batches;
  shape.micro_batches = shape.data_ranks = 1;
  gpt::worker<double> one(shape, 3);
  std::vector<std::vector<double>> all;
  for (std::size_t rank = 0; rank < of.list().size(); ++rank)
    for (int m = 0; m < count; ++m) {
      gpt::batch const whole = of.batch(step, rank);
      auto const cut = [&](std::vector<gpt::token> const& tokens) {
        auto const begin = tokens.begin() + m * shape.rows();
        return std::vector<gpt::token>(begin, begin + shape.rows());
      };
      one.set_batch({cut(whole.inputs), cut(whole.targets)});
      gpt::sequential<double>(one).step();
      auto& made = all.emplace_back();
      for (int stage = 0; stage < shape.stages; ++stage)
        made.insert(made.end(), one.gradient(stage).begin(), one.gradient(stage).end());
    }
  return all;
}

// Runs algorithm 1 on all of them, one after the other.
std::vector<double> clipped_mean(std::vector<std::vector<double>> const& gradients,
                                 std::optional<double> threshold) {
  std::vector<double> norms, mean(gradients.at(0).size(), 0.0);
  for (auto const& g : gradients) {
    double squares = 0;
    for (double x : g) squares += x * x;
    norms.push_back(std::sqrt(squares));
  }
  double const least = threshold ? *threshold : *std::ranges::min_element(norms);
  REQUIRE(least < *std::ranges::max_element(norms));  // some are clipped
  for (std::size_t j = 0; j < gradients.size(); ++j)
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] +=
          gradients[j][i] * std::min(1.0, least / norms[j]) / static_cast<double>(gradients.size());
  return mean;
}

}  // namespace

TEST_CASE("clipping: the gradient is the mean of the clipped ones of all ranks") {
  for (int ranks : {1, 2})
    for (std::optional<double> threshold : {std::optional<double>{}, std::optional{2.0}}) {
      CAPTURE(ranks);
      ashlar::program const p = clipped_program("1f1b", ranks);
      clipped_ranks const found(p, threshold);
      found.set_batch(0);
      ashlar::host::runtime(p, found.list()).run();
      std::vector<double> const expected = clipped_mean(micro_gradients(found, 0), threshold);
      std::size_t next = 0;
      double distance = 0, length = 0;
      for (int stage = 0; stage < p.stage_count(); ++stage)
        for (double g : found[0].gradient(stage)) {
          distance = std::max(distance, std::abs(g - expected[next]));
          length = std::max(length, std::abs(expected[next++]));
        }
      CHECK(next == expected.size());
      CHECK(distance < 1e-12 * length);
    }
}

TEST_CASE("clipping: training gives the bits of the sequential run") {
  for (char const* name : {"1f1b", "zb-h1", "v-half"})
    for (int ranks : {1, 2}) {
      CAPTURE(name);
      CAPTURE(ranks);
      ashlar::program const p = clipped_program(name, ranks);
      clipped_ranks const found(p, {}), expected(p, {});
      ashlar::host::runtime runtime(p, found.list());
      ashlar::sequential reference(p, expected.list());
      for (std::uint64_t step = 0; step < 3; ++step) {
        found.set_batch(step);
        expected.set_batch(step);
        runtime.run();
        reference.run();
        gpt::update(found.list(), {});
        gpt::update(expected.list(), {});
      }
      for (std::size_t rank = 0; rank < found.list().size(); ++rank)
        for (int stage = 0; stage < p.stage_count(); ++stage) {
          CHECK(std::ranges::equal(found[rank].weights(stage), expected[rank].weights(stage)));
          CHECK(std::ranges::equal(found[rank].weights(stage), found[0].weights(stage)));
        }
    }
}
