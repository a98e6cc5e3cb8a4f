// A step gives the same bits for every cut and run.
#include "support.hpp"
#include <ashlar/run/host_memory.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

using gpt::backward_form;
using gpt::memory_form;
using gpt_test::outcome_of;
using gpt_test::small;
using gpt_test::tiny;

TEST_CASE_TEMPLATE("cuts and forms do not change a bit", Scalar, float, double) {
  for (auto const shape : {tiny, +[](int stages, int) { return small(stages); }}) {
    auto const reference = outcome_of<Scalar>(shape(1, 2));
    CHECK(reference.losses.size() == 2);
    for (int const stages : {1, 2, 3, 5}) {
      CAPTURE(stages);
      CHECK(outcome_of<Scalar>(shape(stages, 2)) == reference);
      CHECK(outcome_of<Scalar>(shape(stages, 2), backward_form::split) == reference);
      CHECK(outcome_of<Scalar>(shape(stages, 2), backward_form::fused, memory_form::recompute)
            == reference);
      CHECK(outcome_of<Scalar>(shape(stages, 2), backward_form::split, memory_form::recompute)
            == reference);
    }
  }
}

TEST_CASE("training is the same for any number of stages") {
  auto const train = [](int stages) {
    gpt::worker<float> w(small(stages), 3);
    gpt::sequential<float> run(w);
    for (std::uint64_t step = 0; step < 3; ++step) {
      w.set_batch(gpt_test::batch_for(w.shape(), step));
      run.step();
      gpt::update(std::vector{&w}, {.clip = 0.1});
    }
    return gpt_test::tensors(w, gpt_test::which::weight);
  };
  CHECK(train(1) == train(3));
}

TEST_CASE("a pass gives the same bits on any thread and in any memory") {
  // Every micro-batch has the tokens of the first.
  auto shape = small(1);
  shape.micro_batches = 4;
  auto batch = gpt_test::batch_for(shape);
  auto const rows = static_cast<std::ptrdiff_t>(shape.rows());
  for (std::ptrdiff_t m = 1; m < shape.micro_batches; ++m) {
    std::copy_n(batch.inputs.begin(), rows, batch.inputs.begin() + m * rows);
    std::copy_n(batch.targets.begin(), rows, batch.targets.begin() + m * rows);
  }
  gpt::worker<float> w(shape, 3);
  w.set_batch(batch);

  struct memory {
    gpt::array<std::byte> stash;
    gpt::array<std::byte> sum;
  };
  std::size_t const stash_size = w.bytes(ashlar::slot_kind::stash, 0);
  std::size_t const sum_size = w.bytes(ashlar::slot_kind::weight_gradient, 0);
  std::vector<memory> slots;
  std::vector<ashlar::buffer> sums;
  std::vector<std::thread> threads;
  for (int m = 0; m < shape.micro_batches; ++m) {
    std::size_t const shift = gpt::alignment * static_cast<std::size_t>(m);
    auto& own = slots.emplace_back(
        memory{gpt::array<std::byte>(stash_size + shift), gpt::array<std::byte>(sum_size + shift)});
    ashlar::buffer const stash = own.stash.span().subspan(shift);
    ashlar::buffer const sum = sums.emplace_back(own.sum.span().subspan(shift));
    threads.emplace_back([&w, m, stash, sum] {
      ashlar::frame f{{ashlar::pass_kind::forward, 0, m}, {}, {}, {}, stash, {}, sum};
      int queue = 0;
      w.forward(queue, f);
      f.what.kind = ashlar::pass_kind::backward;
      w.backward(queue, f);
    });
  }
  for (auto& thread : threads) thread.join();
  for (int m = 1; m < shape.micro_batches; ++m) {
    auto const i = static_cast<std::size_t>(m);
    CHECK(w.losses()[i] == w.losses()[0]);
    CHECK(std::ranges::equal(sums[i], sums[0]));
  }

  // Twice the gradient is exact.
  int queue = 0;
  ashlar::add_elements(sums[0], sums[1], w.layout({ashlar::slot_kind::weight_gradient, 0}).element);
  w.reduced(queue, {.group = 0, .gradient = sums[0]});
  auto const twice = std::vector<float>(w.gradient(0).begin(), w.gradient(0).end());
  w.reduced(queue, {.group = 0, .gradient = sums[1]});
  CHECK(std::ranges::equal(twice, w.gradient(0), {}, {}, [](float value) { return 2 * value; }));
  CHECK(gpt::gradient_norm(std::vector{&w}) > 0);
}

TEST_CASE("a slot that is too small is refused") {
  gpt::worker<float> w(tiny(1), 3);
  w.set_batch(gpt_test::batch_for(w.shape()));
  int queue = 0;
  CHECK_THROWS_AS(w.forward(queue, {{ashlar::pass_kind::forward, 0, 0}, {}, {}, {}, {}, {}, {}}),
                  std::length_error);
}
