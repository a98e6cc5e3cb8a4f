// A head whose vocabulary is split over the devices of a pipeline.
#include "gpt/finite.hpp"
#include "support.hpp"
#include <ashlar/block/algebra.hpp>
#include <ashlar/catalog/entries.hpp>
#include <ashlar/catalog/input_shards.hpp>
#include <ashlar/catalog/vocabulary.hpp>
#include <ashlar/catalog/vocabulary_entries.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/program/slot_sizes.hpp>
#include <ashlar/run/sequential.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using gpt_test::tensors;
using gpt_test::tiny;
using gpt_test::which;

namespace {

constexpr auto late = ashlar::shard_gradient::of_backward;
constexpr auto early = ashlar::shard_gradient::of_forward;

// The model on p devices with a stage and a shard each.
gpt::config in_shards(gpt::config shape, int p, ashlar::shard_gradient gradients) {
  shape.stages = 2 * p;
  shape.shards = p;
  shape.early = gradients == early;
  return shape;
}

ashlar::program vocabulary_program(gpt::config const& shape) {
  return ashlar::lower(ashlar::catalog::vocabulary_one_f_one_b(
      ashlar::devices{shape.shards}, ashlar::micro_batches{shape.micro_batches},
      shape.early ? early : late));
}

template <class Scalar>
struct step_of {
  std::vector<double> losses;
  std::map<std::string, std::vector<Scalar>> gradients;

  bool operator==(step_of const&) const = default;
};

template <class Runtime, class Scalar = double>
step_of<Scalar> vocabulary_step(gpt::config const& shape, ashlar::program const& p, double scale = 1) {
  gpt::worker<Scalar> w(shape, 3);
  w.set_batch(gpt_test::batch_for(shape));
  w.set_loss_scale(scale);
  Runtime(p, w).run();
  return {{w.losses().begin(), w.losses().end()}, tensors(w, which::gradient)};
}

// The difference relative to the largest number of each tensor.
double difference_between(step_of<double> const& a, step_of<double> const& b) {
  double worst = 0;
  REQUIRE(a.losses.size() == b.losses.size());
  for (std::size_t k = 0; k < a.losses.size(); ++k)
    worst = std::max(worst, std::abs(a.losses[k] - b.losses[k]) / b.losses[k]);
  REQUIRE(a.gradients.size() == b.gradients.size());
  for (auto const& [name, values] : b.gradients) {
    auto const& others = a.gradients.at(name);
    REQUIRE(others.size() == values.size());
    double largest = 0, apart = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      largest = std::max(largest, std::abs(values[i]));
      apart = std::max(apart, std::abs(values[i] - others[i]));
    }
    CHECK(largest > 0);
    worst = std::max(worst, apart / largest);
  }
  return worst;
}

// The backwards of the first three stages are two passes, one behind the other.
ashlar::schedule split_inputs(ashlar::schedule s) {
  for (auto& order : s.order) {
    std::vector<ashlar::time_slot> split;
    for (ashlar::time_slot t : order) {
      bool const is_input = t.what.stage < 3 && t.what.kind == ashlar::pass_kind::backward;
      if (is_input) t.what.kind = ashlar::pass_kind::backward_input;
      split.push_back(t);
      if (!is_input) continue;
      t.what.kind = ashlar::pass_kind::backward_weight;
      split.push_back(t);
    }
    order = split;
  }
  return ashlar::squeeze(std::move(s));
}

}  // namespace

TEST_CASE("a model whose head lies in shards begins with the weights of the whole one") {
  gpt::worker<float> one(tiny(1), 3);
  for (int const p : {1, 2, 3, 7}) {
    gpt::worker<float> w(in_shards(tiny(1), p, late), 3);
    CHECK(tensors(w, which::weight) == tensors(one, which::weight));
    CHECK(w.parameters() == one.parameters());
  }
}

TEST_CASE("losses and gradients of a head in shards are those of the whole one") {
  gpt::config const shape = tiny(1, 3);
  for (double const scale : {1.0, 64.0}) {
    gpt::worker<double> w(shape, 3);
    w.set_batch(gpt_test::batch_for(shape));
    w.set_loss_scale(scale);
    gpt::sequential<double>(w).step();
    step_of<double> const whole{{w.losses().begin(), w.losses().end()}, tensors(w, which::gradient)};
    for (int const p : {1, 2, 3, 5})
      for (auto const gradients : {late, early}) {
        CAPTURE(p);
        gpt::config const divided = in_shards(shape, p, gradients);
        auto const block = ashlar::catalog::vocabulary_one_f_one_b(ashlar::devices{p}, gradients);
        ashlar::micro_batches const m{shape.micro_batches};
        for (auto const& form :
             {block, split_backward(block), recompute(block), recompute(split_backward(block))}) {
          auto const step = vocabulary_step<ashlar::sequential>(
              divided, lower(form | repeat(m) | ashlar::squeeze()), scale);
          CHECK(difference_between(step, whole) < 1e-12);
        }
      }
  }
}

TEST_CASE("a large logit of one shard leaves nothing of the others, and no number that is not finite") {
  for (auto const gradients : {late, early}) {
    gpt::config const shape = in_shards(tiny(1), 3, gradients);
    gpt::worker<float> w(shape, 3);
    w.set_batch(gpt_test::batch_for(shape));
    w.visit(4, [](gpt::tensor_description const& what, auto const& weight, auto const&) {
      if (what.name == "head.bias") weight.row(0)[1] = 300;  // exp(300) is more than a float
    });
    ashlar::sequential(vocabulary_program(shape), w).run();
    CHECK((w.loss() > 100 && std::isfinite(w.loss())));
    CHECK(std::isfinite(gpt::gradient_norm(std::vector{&w})));
  }
}

// Sums of one row and zeros are exact, so that nothing has another order.
TEST_CASE_TEMPLATE("an embedding in shards changes no bit of losses and gradients", Scalar, float,
                   double) {
  using namespace ashlar;
  for (int const p : {1, 2, 3})
    for (char const* name : {"1f1b", "zb-h1", "1f1b-recompute"})
      for (int const last : {0, 1}) {
        CAPTURE(std::string(name));
        CAPTURE(p);
        gpt::config whole = tiny(p, 3), divided = tiny(2 * p, 3);
        divided.input_shards = p;
        whole.last_sequences = divided.last_sequences = last;
        schedule const s = catalog::find(name)->make({devices{p}, micro_batches{whole.micro_batches}});
        auto const expected = vocabulary_step<sequential, Scalar>(whole, lower(s));
        program const in_shards = lower(catalog::with_input_shards(s));
        CHECK(vocabulary_step<sequential, Scalar>(divided, in_shards) == expected);
        CHECK(vocabulary_step<host::runtime<gpt::worker<Scalar>>, Scalar>(divided, in_shards)
              == expected);
      }
  // With both layers in shards, as with the head alone; the backward of an input's shard may be split.
  for (auto const gradients : {late, early}) {
    gpt::config const head = in_shards(tiny(1, 3), 3, gradients);
    gpt::config both = head;
    both.stages += 3;
    both.input_shards = 3;
    schedule const s =
        catalog::vocabulary_one_f_one_b(devices{3}, micro_batches{head.micro_batches}, gradients);
    auto const expected = vocabulary_step<sequential, Scalar>(head, lower(s));
    schedule const t = catalog::with_input_shards(s);
    CHECK(vocabulary_step<sequential, Scalar>(both, lower(t)) == expected);
    CHECK(vocabulary_step<sequential, Scalar>(both, lower(split_inputs(t))) == expected);
  }
}

TEST_CASE_TEMPLATE("threads give the bits of one pass after another", Scalar, float, double) {
  using host = ashlar::host::runtime<gpt::worker<Scalar>>;
  for (ashlar::catalog::entry const& e : ashlar::catalog::vocabulary_entries)
    for (int const last : {0, 1}) {
      CAPTURE(std::string(e.name));
      gpt::config shape = in_shards(tiny(1), 3, std::string(e.name) == "vocab-2" ? early : late);
      shape.micro_batches = 5;
      shape.last_sequences = last;
      ashlar::program const p =
          ashlar::lower(e.make({ashlar::devices{3}, ashlar::micro_batches{shape.micro_batches}}));
      CHECK(vocabulary_step<host, Scalar>(shape, p)
            == vocabulary_step<ashlar::sequential, Scalar>(shape, p));
    }
}

TEST_CASE("where the numbers of a head in shards stop being finite is found, too") {
  for (auto const gradients : {late, early})
    for (int const poisoned : {-1, 0, 2, 3, 5}) {
      gpt::config const shape = in_shards(tiny(1), 3, gradients);
      gpt::worker<float> w(shape, 1);
      w.set_batch(gpt_test::batch_for(shape));
      if (poisoned >= 0)
        w.visit(poisoned, [](auto const&, auto const& weight, auto const&) {
          weight.row(0)[0] = std::numeric_limits<float>::infinity();
        });
      auto const found = gpt::first_non_finite<float>(vocabulary_program(shape), {&w});
      CHECK(found.has_value() == (poisoned >= 0));
      if (found) CHECK(found->stage == poisoned);
    }
}

// Parameters outweigh the values of micro-batches: up to two more of these are in flight.
TEST_CASE("the last device needs less memory with a head in shards") {
  gpt::config const whole{.blocks = 4,
                          .width = 16,
                          .heads = 2,
                          .context = 4,
                          .sequences = 1,
                          .micro_batches = 8,
                          .stages = 4};
  std::size_t const one_f_one_b =
      gpt_test::bytes_of_devices(whole, ashlar::lower(ashlar::catalog::find("1f1b")->make(
                                            {ashlar::devices{4}, ashlar::micro_batches{8}})))[3];
  std::size_t const head = gpt::vocabulary * (16 + 1), kept = 4 * sizeof(float);
  for (auto const gradients : {late, early}) {
    gpt::config const divided = in_shards(whole, 4, gradients);
    gpt::worker<float> const a(whole, 1), b(divided, 1);
    CHECK(a.elements(3) - b.elements(3) == head);
    for (int shard = 4; shard < 8; ++shard) CHECK(b.elements(shard) == head / 4);
    gpt::config both = divided;
    both.stages += 4;
    both.input_shards = 4;
    gpt::worker<float> const c(both, 1);
    CHECK(b.elements(0) - c.elements(4) == gpt::vocabulary * 16);
    for (int shard = 0; shard < 4; ++shard) CHECK(c.elements(shard) == gpt::vocabulary * 16 / 4);
    std::size_t const vocabulary = gpt_test::bytes_of_devices(divided, vocabulary_program(divided))[3];
    MESSAGE("bytes of the last device: ", one_f_one_b, ", in shards ", vocabulary);
    CHECK(vocabulary < one_f_one_b - head * kept / 2);
  }
}

TEST_CASE("a head that cannot lie in shards is refused") {
  auto shape = in_shards(tiny(1), 3, late);
  CHECK_NOTHROW(require_valid(shape));
  CHECK_THROWS_AS(require_valid(gpt_test::tied(shape)), std::invalid_argument);
  shape.stages = 3;
  CHECK_THROWS_AS(require_valid(shape), std::invalid_argument);
  shape.stages = 300;
  shape.shards = 257;
  CHECK_THROWS_AS(require_valid(shape), std::invalid_argument);
  gpt::config input = tiny(3);
  input.input_shards = 3;
  CHECK_THROWS_AS(require_valid(input), std::invalid_argument);
  input.input_shards = 2;
  CHECK_NOTHROW(require_valid(input));
  CHECK_THROWS_AS(require_valid(gpt_test::tied(input)), std::invalid_argument);
  shape.shards = -1;
  CHECK_THROWS_AS(require_valid(shape), std::invalid_argument);
}
