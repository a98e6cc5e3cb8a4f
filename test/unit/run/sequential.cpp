#include <ashlar/run/sequential.hpp>
// The header above comes first: it needs nothing before it.
#include "../../shapes.hpp"
#include "../../violations.hpp"
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

using namespace shapes;

namespace {

// Each value is a number; the worker asks for what the test looks at.
struct number_worker {
  std::vector<std::pair<int, int>> shards;  // asked for: group and replica
  std::vector<double> states;               // of work, as it found them
  double weight = 1;
  std::size_t sum_bytes = sizeof(double);

  value_layout layout(value_key key) const {
    bool const sums = key.kind == slot_kind::work && key.of == 1;
    return {sums ? sum_bytes : sizeof(double), 64, element_type::f64};
  }
  void forward(auto&, frame const&) {}
  void backward(auto&, frame const&) {}
  void work(auto&, frame const& f) {
    if (f.work_state.empty()) return;
    double& state = *reinterpret_cast<double*>(f.work_state.data());
    states.push_back(state);
    state += 1;
  }
  buffer shard(int group, int replica) {
    shards.emplace_back(group, replica);
    return std::as_writable_bytes(std::span(&weight, 1));
  }
};

// Counts micro-batches from 1 into the gradient.
struct counting_worker {
  std::vector<double> gradients;  // that the optimizer was given
  std::vector<int> measured;      // devices
  static value_layout layout(value_key) { return {sizeof(double), 64, element_type::f64}; }
  void forward(auto&, frame const&) {}
  void backward(auto&, frame const& f) {
    *reinterpret_cast<double*>(f.weight_gradient.data()) += 1 + f.what.micro_batch;
  }
  void measure(auto&, parameter_frame const& f) {
    measured.push_back(f.site.device);
    *reinterpret_cast<double*>(f.scalar.data()) = static_cast<double>(f.gradients.size());
  }
  void optimize(auto&, parameter_frame const& f) {
    gradients.push_back(*reinterpret_cast<double const*>(f.gradient.data()));
    CHECK(*reinterpret_cast<double const*>(f.scalar.data()) == 2);  // groups
  }
};

TEST_CASE("the reference gives the optimizer the sum over micro-batches, holders and ranks") {
  program const p = lower(two_ways(2) | repeat(micro_batches{2}) | squeeze(),
                          {.data_ranks = 2, .step = optimizer_step::after_norm});
  counting_worker first, second;
  sequential(p, std::vector{&first, &second}).run();
  for (auto const* w : {&first, &second})
    CHECK(w->gradients == std::vector<double>(4, 6));  // of two groups on two devices
  CHECK(first.measured == std::vector{0, 1});
  CHECK(second.measured.empty());  // its sums are the first one's
}

TEST_CASE("the reference takes no program that is not proved") {
  program p = one_f_one_b(2, 2) | lower();
  number_worker w;
  sequential(p, w).run();
  p.instructions[1].what.stage = 1;  // the first pass
  CHECK_THROWS_AS(sequential(p, w), violation);
}

TEST_CASE("the reference asks each holder for its shard, by its number among them") {
  program const p = lower(two_ways(2) | repeat(micro_batches{2}) | squeeze(),
                          {.data_ranks = 2, .sharding = sharding_level::full});
  number_worker first, second;
  sequential(p, std::vector{&first, &second}).run();
  std::vector<std::pair<int, int>> const each{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  CHECK(first.shards == each);
  CHECK(second.shards == each);
}

TEST_CASE("the reference keeps what work keeps, unless its job clears it after a step") {
  for (bool clears : {false, true}) {
    schedule s = with_work(one_f_one_b(1, 1));
    s.work = work_graph(
        {{.parts = {{0, 1}}, .does = compute_job{.state = own_state{.is_cleared = clears}}}}, {});
    program const p = lower(s);
    number_worker w;
    sequential reference(p, w);
    for (int step = 0; step < 3; ++step) reference.run();
    CHECK(w.states == (clears ? std::vector<double>{0, 0, 0} : std::vector<double>{0, 1, 2}));
  }
}

TEST_CASE("the reference sums work of one size alone") {
  program const p = lower(with_norm(one_f_one_b(2, 2)));
  number_worker w;
  sequential(p, w).run();
  w.sum_bytes = 2 * sizeof(double);
  CHECK_THROWS_AS(sequential(p, w).run(), std::length_error);
}

}  // namespace
