// Compares the GPT on the CUDA backend with one device: schedules, ranks, sharding and replay.
#include "gpt_model.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/cuda/runtime.hpp>
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

using namespace gpt_cuda_test;
using gpt_test::tied;
using gpt_test::tiny;

namespace {

struct training {
  ashlar::schedule schedule;
  gpt::config shape;  // of the model; the rest is the schedule's
  int ranks = 1;
  ashlar::sharding_level sharding = ashlar::sharding_level::none;
  double clip = 0.5;
  std::vector<ashlar::pass> away = {};  // forwards whose stashes leave for the host
};

training training_of(char const* name, int p, int m, gpt::config const& shape) {
  return {ashlar::catalog::find(name)->make({ashlar::devices{p}, ashlar::micro_batches{m}}), shape};
}

ashlar::program program_of(training const& t) {
  int const last = t.schedule.stage_count() - 1;
  ashlar::lower_options options{
      .data_ranks = t.ranks, .sharding = t.sharding, .step = ashlar::optimizer_step::after_norm};
  options.offload = {.forwards = t.away, .copy = {1}};
  if (t.shape.tied) options.shared_parameters = {last > 0 ? std::vector{0, last} : std::vector{0}};
  return lower(t.schedule, options);
}

// Results of a training: the losses by step and micro-batch, the norm by step, and the weights.
struct trained {
  std::vector<double> losses, norms;
  std::vector<float> weights;

  bool operator==(trained const&) const = default;
};

// Makes two steps on virtual devices of GPU 0. The weights are those of rank 0, tensor after tensor.
template <class T>
trained train_on_backend(training const& t, ashlar::cuda::issue_mode mode) {
  ashlar::program const p = program_of(t);
  gpt::config shape = t.shape;
  shape.stages = p.stage_count();
  shape.micro_batches = p.micro_batch_count();
  shape.data_ranks = t.ranks;
  std::vector<std::unique_ptr<gpt_cuda::worker<T>>> workers;
  std::vector<gpt_cuda::worker<T>*> all;
  for (int rank = 0; rank < t.ranks; ++rank) {
    auto const on_gpu_0 = [](int) { return 0; };
    workers.push_back(
        std::make_unique<gpt_cuda::worker<T>>(shape, 3, gpt_cuda::site_in(p, rank, on_gpu_0)));
    all.push_back(workers.back().get());
  }
  ashlar::cuda::runtime runtime(p, all, {.mode = mode, .gpus = {0}});
  trained result;
  for (int step = 0; step < 2; ++step) {
    std::uint64_t batch = static_cast<std::uint64_t>(step * t.ranks);
    for (auto* w : all) {
      w->set_batch(gpt_test::batch_for(shape, batch++));
      w->set_optimizer({.rate = 1e-2, .clip = t.clip});
    }
    runtime.run();
    for (auto* w : all) {
      w->set_updates(step + 1);
      for (double const loss : w->losses()) result.losses.push_back(loss);
    }
    result.norms.push_back(all[0]->gradient_norm());
  }
  gpt::worker<float> host(shape, 3);
  for (auto* w : all) {
    for (int g = 0; g < shape.groups(); ++g) {
      for (int copy = 1; copy < w->copies(g); ++copy) CHECK(w->weights(g, copy) == w->weights(g));
      // A sharded rank keeps up its part alone.
      auto const [first, count] = w->part(g);
      std::vector<float> const own = w->weights(g);
      for (std::size_t i = first; i < first + count; ++i) host.weights(g)[i] = own[i];
    }
  }
  for (auto const& [name, values] : gpt_test::tensors(host, gpt_test::which::weight))
    result.weights.insert(result.weights.end(), values.begin(), values.end());
  return result;
}

void check_near(trained const& found, trained const& expected) {
  CHECK(distance(found.losses, expected.losses) < 1e-4);
  CHECK(distance(found.norms, expected.norms) < 1e-4);
  CHECK(distance(as_doubles(found.weights), as_doubles(expected.weights)) < 2e-2);
}

}  // namespace

// Where each stage has one holder, takes micro-batches in order and shares nothing, all sums have one
// order. The first step is issued, the others are replayed.
TEST_CASE_TEMPLATE("gpt_cuda: pipelines give the bits of one device", T, float, bf16) {
  using enum ashlar::cuda::issue_mode;
  trained const expected = train_on_backend<T>(training_of("gpipe", 1, 4, tiny(1)), eager);
  CHECK(train_on_backend<T>(training_of("1f1b", 2, 4, tiny(1)), replay) == expected);
  CHECK(train_on_backend<T>(training_of("1f1b-recompute", 2, 4, tiny(1)), replay) == expected);
  CHECK(train_on_backend<T>(training_of("zb-h1", 4, 4, tiny(1)), replay) == expected);
  CHECK(train_on_backend<T>(training_of("v-half", 2, 4, tiny(1)), replay) == expected);
}

// Stashes leave for pinned memory and come back, issued and replayed.
TEST_CASE("gpt_cuda: pipelines whose stashes leave for the host give the bits of one device") {
  using enum ashlar::cuda::issue_mode;
  trained const expected = train_on_backend<float>(training_of("gpipe", 1, 4, tiny(1)), eager);
  for (char const* const name : {"1f1b", "1f1b-recompute"}) {
    training offloading = training_of(name, 2, 4, tiny(1));
    for (int stage : {0, 1})
      for (int k : {0, 1}) offloading.away.push_back({ashlar::pass_kind::forward, stage, k});
    REQUIRE(program_of(offloading).offloads);
    for (auto const mode : {eager, replay}) CHECK(train_on_backend<float>(offloading, mode) == expected);
  }
}

TEST_CASE("gpt_cuda: replicas of stages and what stages tie have copies of their own, and stay equal") {
  using enum ashlar::cuda::issue_mode;
  trained const one = train_on_backend<float>(training_of("1f1b", 1, 4, tied(tiny(1))), eager);
  for (char const* name : {"1f1b", "chimera"}) {
    trained const issued = train_on_backend<float>(training_of(name, 2, 4, tied(tiny(1))), eager);
    CHECK(issued == train_on_backend<float>(training_of(name, 2, 4, tied(tiny(1))), replay));
    check_near(issued, one);
  }
}

TEST_CASE("gpt_cuda: data-parallel ranks, whatever they shard, train as one") {
  using enum ashlar::cuda::issue_mode;
  using enum ashlar::sharding_level;
  training whole = training_of("1f1b", 2, 2, tied(tiny(1)));
  whole.ranks = 2;
  trained const expected = train_on_backend<float>(whole, eager);
  for (ashlar::sharding_level const level : {optimizer, gradients, weights, full}) {
    CAPTURE(static_cast<int>(level));
    training sharded = whole;
    sharded.sharding = level;
    check_near(train_on_backend<float>(sharded, replay), expected);
  }
}

// The bits differ if steps are clipped by the norm, whose squares are summed in another order then. The
// shards of three ranks are cut where no two of their elements are aligned alike.
TEST_CASE_TEMPLATE("gpt_cuda: data-parallel ranks that shard give the bits of those that do not", T,
                   float, bf16) {
  using enum ashlar::cuda::issue_mode;
  using enum ashlar::sharding_level;
  training whole = training_of("1f1b", 2, 2, tiny(1, 1));
  whole.ranks = 3;
  whole.clip = 0;
  trained const expected = train_on_backend<T>(whole, eager);
  for (ashlar::sharding_level const level : {optimizer, gradients, weights, full}) {
    if (std::is_same_v<T, float> && level != full) continue;
    CAPTURE(static_cast<int>(level));
    training sharded = whole;
    sharded.sharding = level;
    trained const found = train_on_backend<T>(sharded, replay);
    CHECK(found.losses == expected.losses);
    CHECK(found.weights == expected.weights);
  }
}
