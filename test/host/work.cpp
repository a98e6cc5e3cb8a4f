// Work on devices gives the bits of the sequential reference step after step; frames say what they must.
#include "../shapes.hpp"
#include <ashlar/conformance.hpp>
#include <ashlar/conformance/random_schedule.hpp>
#include <ashlar/conformance/random_work.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/model/work_lists.hpp>
#include <ashlar/run/sequential.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

using namespace ashlar;

namespace {

// Clips the gradient of micro-batch 0 by its norm over all stages, which are one number each: what B0
// keeps is that gradient.
struct clipping {
  explicit clipping(int devices) : seen(static_cast<std::size_t>(devices), 0.0), sums(seen) {}
  value_layout layout(value_key) const { return {sizeof(double), 64, element_type::f64}; }
  static double& number(buffer b) { return *reinterpret_cast<double*>(b.data()); }

  void forward(auto&, frame const& f) {
    double x = f.inputs.empty() ? 1.0 + f.what.micro_batch : number(f.inputs[0]);
    number(f.stash) = x;
    if (!f.outputs.empty()) number(f.outputs[0]) = 2 * x;
  }
  void backward(auto&, frame const& f) {
    double const g = f.inputs.empty() ? number(f.stash) : number(f.inputs[0]);
    number(f.weight_stash) = g;
    if (!f.outputs.empty()) number(f.outputs[0]) = 3 * g;
    number(f.weight_gradient) += g;
  }
  void work(auto&, frame const& f) {
    double const g = number(f.work_inputs[0]);  // the pass comes before work
    REQUIRE(f.work_inputs[0].from == pass{pass_kind::backward, f.site.device, 0});
    if (f.what.stage == 0) {
      number(f.work_output) = g * g;
      return;
    }
    REQUIRE(f.work_inputs.size() == 2);
    REQUIRE(f.work_inputs[1].from == pass{pass_kind::work, 1, f.what.micro_batch});
    REQUIRE(f.work_output.empty());
    auto const d = static_cast<std::size_t>(f.site.device);
    sums[d] = number(f.work_inputs[1]);
    seen[d] = number(f.work_state) += g / std::sqrt(sums[d]);
  }
  std::vector<double> seen, sums;  // by device: its state, and the sum that it was given
};

struct without_work {
  value_layout layout(value_key) const { return {8, 64, element_type::f64}; }
  void forward(auto&, frame const&) {}
  void backward(auto&, frame const&) {}
};

}  // namespace

TEST_CASE("work: a norm over all stages scales what is added to the state of each, over three steps") {
  program const p = lower(shapes::with_norm(shapes::one_f_one_b(3, 4)));
  clipping on_host(3), expected(3);
  host::runtime runtime(p, on_host);
  sequential reference(p, expected);
  // The forward gives 1, 2, 4; the gradients of the stages are 36, 12 and 4.
  double const squares = 36.0 * 36 + 12 * 12 + 4 * 4;
  for (int step = 1; step <= 3; ++step) {
    runtime.run();
    reference.run();
    CHECK(on_host.seen == expected.seen);
    CHECK(on_host.sums == std::vector<double>(3, squares));
    CHECK(on_host.seen[1] == doctest::Approx(step * 12 / std::sqrt(squares)).epsilon(1e-15));
  }
}

TEST_CASE("work: what jobs keep is the reference's after every step") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    program const p = lower(conformance::with_random_work(conformance::random_schedule(seed), seed, 6));
    conformance::network found(p), expected(p);
    found.delays = seed;
    host::runtime runtime(p, found);
    sequential reference(p, expected);
    for (int step = 0; step < 3; ++step) {
      runtime.run();
      reference.run();
      CHECK(found.take() == expected.take());
    }
  }
}

TEST_CASE("work: a worker that has no verb for it is refused, one that needs none is not") {
  program const p = lower(shapes::with_norm(shapes::one_f_one_b(2, 2)));
  without_work w;
  CHECK_THROWS_AS(host::runtime(p, w), std::invalid_argument);
  host::runtime(lower(shapes::one_f_one_b(2, 2)), w).run();
}

TEST_CASE("work: sums over data-parallel ranks, and within each") {
  for (bool over_ranks : {false, true}) {
    schedule s = shapes::with_norm(shapes::one_f_one_b(2, 2));
    std::vector<work_job> jobs = jobs_of(s.work);
    jobs[1].does = all_reduce_job{over_ranks};
    s.work = work_graph(jobs, edges_of(s.work));
    program const p = lower(s, {.data_ranks = 2});
    clipping first(2), second(2);
    host::runtime(p, std::vector{&first, &second}).run();
    double const own = 6.0 * 6 + 2 * 2;
    CHECK(first.sums == std::vector<double>(2, over_ranks ? 2 * own : own));
    CHECK(second.sums == first.sums);
  }
}
