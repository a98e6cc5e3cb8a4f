// The host backend gives the bits of the sequential reference, and the reference those of plain
// back-propagation.
#include "random_cases.hpp"
#include <ashlar/catalog.hpp>
#include <ashlar/conformance/conforms.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/freeze.hpp>
#include <ashlar/run/sequential.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

using namespace ashlar;

TEST_CASE("host: the reference's gradients are the slopes of its loss") {
  for (conformance::sample_program const& sample : listed_cases(conformance::sample_programs())) {
    program const& p = sample.program;
    // Values that passes read of work are no part of the loss, and no pass sees all outputs of a sharded
    // layer.
    bool const tied = !p.groups.shared().empty();
    if (p.mode == execution_mode::inference || (p.micro_batch_count() > 4 && !tied)
        || p.lanes != transfer_lanes::one || !p.work.empty() || p.graph.has_shards())
      continue;
    CAPTURE(sample.name);
    conformance::network w(p);
    sequential reference(p, w);
    reference.run();
    auto const found = w.take();
    std::vector<std::span<double const>> gradients(found.gradients.begin(), found.gradients.end());
    for (auto const& g : found.shared_gradients) gradients.emplace_back(g);
    auto const loss = [&] {
      reference.run();
      double sum = 0;
      for (double l : w.take().losses) sum += l;
      return sum;
    };
    for (int group = 0; group < p.groups.count(); ++group)
      for (std::size_t i = 0; i < w.parameters(group).size(); i += group < p.stage_count() ? 2 : 1) {
        double& weight = w.parameters(group)[i];
        double const here = weight, step = 1e-5;
        weight = here + step;
        double const above = loss();
        weight = here - step;
        double const below = loss();
        weight = here;
        CHECK(gradients[static_cast<std::size_t>(group)][i]
              == doctest::Approx((above - below) / (2 * step)).epsilon(1e-6).scale(1));
      }
  }
}

namespace {

void require_conformance(conformance::report const& r) {
  CHECK(r.programs > random_cases(150));
  for (std::string const& failure : r.failures) FAIL_CHECK(failure);
}

}  // namespace

TEST_CASE("host: rendezvous conforms") {
  require_conformance(conformance::conforms(
      listed_cases(conformance::sample_programs()),
      [](program const& p, conformance::network& w) { host::runtime(p, w).run(); }));
}

TEST_CASE("host: buffered transfers conform") {
  // The three programs of each schedule have different lanes: one or two run with each depth.
  for (std::size_t turn = 0; turn < static_cast<std::size_t>(turns(2)); ++turn) {
    std::size_t number = turn;
    require_conformance(conformance::conforms(
        listed_cases(conformance::sample_programs()), [&](program const& p, conformance::network& w) {
          std::uint32_t const depth = number++ % 2 == 0 ? 1 : 3;
          host::runtime(p, w, {.mode = host::send_mode::buffered, .buffered_depth = depth}).run();
        }));
  }
}

TEST_CASE("host: programs that offload conform") {
  auto const all = listed_cases(conformance::programs_that_offload());
  for (auto mode : {host::send_mode::rendezvous, host::send_mode::buffered}) {
    auto const r = conformance::conforms(all, [mode](program const& p, conformance::network& w) {
      host::runtime(p, w, {.mode = mode}).run();
    });
    CHECK(r.programs == static_cast<int>(all.size()));
    for (std::string const& failure : r.failures) FAIL_CHECK(failure);
  }
  auto const ranks = listed_cases(conformance::programs_of_ranks_that_offload());
  auto const r = conformance::ranks_conform(
      ranks, [](program const& p, std::vector<conformance::sharded_network*> const& workers) {
        host::runtime(p, workers).run();
      });
  CHECK(r.programs == static_cast<int>(ranks.size()));
  for (std::string const& failure : r.failures) FAIL_CHECK(failure);
}

TEST_CASE("host: data-parallel ranks conform") {
  for (auto mode : {host::send_mode::rendezvous, host::send_mode::buffered})
    require_conformance(conformance::ranks_conform(
        listed_cases(conformance::programs_of_ranks()),
        [mode](program const& p, std::vector<conformance::sharded_network*> const& workers) {
          host::runtime(p, workers, {.mode = mode}).run();
        }));
}

namespace {

// A network that ignores what the chunk before, or after, left.
class forgetful_network : public conformance::network {
 public:
  forgetful_network(program const& p, bool forward, bool backward)
      : network(p), forward_(forward), backward_(backward) {}

  void forward(auto& q, frame f) {
    if (forward_) f.sequence_input = zeros(f.sequence_input);
    network::forward(q, f);
  }
  void backward(auto& q, frame f) {
    if (backward_) f.sequence_input = zeros(f.sequence_input);
    network::backward(q, f);
  }

 private:
  buffer zeros(buffer like) { return std::as_writable_bytes(std::span(nothing_)).first(like.size()); }

  bool forward_, backward_;
  network::vector nothing_{};
};

}  // namespace

TEST_CASE("host: what chunks of a sequence hand over changes every gradient, forward as backward") {
  program const p = catalog::seq1f1b(devices{2}, 3) | repeat(micro_batches{6}) | squeeze() | lower();
  auto const outcome_of = [&](bool forward, bool backward) {
    forgetful_network w(p, forward, backward);
    sequential(p, w).run();
    return w.take();
  };
  auto const all = outcome_of(false, false);
  for (bool forward : {false, true}) {
    auto const less = outcome_of(forward, !forward);
    CHECK((less.losses == all.losses) == !forward);
    for (std::size_t s = 0; s < 2; ++s) CHECK(less.gradients[s] != all.gradients[s]);
  }
}

TEST_CASE("host: schedules that accumulate in the same order agree with each other") {
  auto const outcome_of = [](schedule const& s) {
    conformance::network w(s.stage_count(), s.micro_batch_count());
    host::runtime(lower(s), w).run();
    return w.take();
  };
  auto const shape = catalog::shape{devices{4}, micro_batches{8}};
  auto const gpipe = outcome_of(catalog::find("gpipe")->make(shape));
  for (char const* name : {"1f1b", "1f1b-recompute", "eager-1f1b", "zb-h1"})
    CHECK(outcome_of(catalog::find(name)->make(shape)) == gpipe);
}

TEST_CASE("host: inference gives the losses of training, and no gradient") {
  catalog::shape const shape{devices{4}, micro_batches{8}};
  auto const outcome_of = [&](char const* name) {
    conformance::network w(4, 8);
    host::runtime(lower(catalog::find(name)->make(shape)), w).run();
    return w.take();
  };
  auto const forward_only = outcome_of("inference"), both = outcome_of("gpipe");
  CHECK(forward_only.losses == both.losses);
  for (double loss : forward_only.losses) CHECK(loss > 0);
  CHECK(forward_only.gradients != both.gradients);
  CHECK(forward_only.gradients == std::vector<conformance::network::matrix>(4));
}

TEST_CASE("host: a runtime runs step after step, and accumulators start from zero") {
  program const p = catalog::find("v-half")->make({devices{3}, micro_batches{6}}) | lower();
  conformance::network w(p.stage_count(), p.micro_batch_count());
  host::runtime runtime(p, w);
  runtime.run();
  auto const first = w.take();
  for (int step = 0; step < 20; ++step) {
    runtime.run();
    CHECK(w.take() == first);
  }
}

TEST_CASE("host: a frozen program runs from static memory") {
  static constexpr auto make = [] {
    return catalog::one_f_one_b(devices{2}) | repeat(micro_batches{4}) | squeeze() | lower();
  };
  conformance::network w(2, 4);
  host::runtime(freeze<make>, w).run();
  auto const frozen = w.take();
  sequential(make(), w).run();
  CHECK(w.take() == frozen);
}
