// The conformance test of data-parallel ranks finds what one of them, or all, have wrong.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/conformance/conforms.hpp>
#include <ashlar/conformance/data_parallel_ranks.hpp>
#include <ashlar/conformance/random_work.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

using namespace ashlar;
using conformance::sharded_network;

namespace {

using ranks = std::vector<sharded_network*>;
using rank_failures = std::vector<std::string>;

// A program on two ranks, with an optimizer step after the norm is known, parameters in common, and
// work.
conformance::sample_program program_at(sharding_level level) {
  schedule const s = conformance::with_random_work(
      catalog::find("gpipe")->make({devices{2}, micro_batches{2}}), 3, 2, false);
  return {level == sharding_level::none ? "whole" : "sharded",
          lower(s, {.data_ranks = 2,
                    .sharding = level,
                    .step = optimizer_step::after_norm,
                    .shared_parameters = {{0, 1}}})};
}
std::vector<conformance::sample_program> whole_and_sharded() {
  return {program_at(sharding_level::none), program_at(sharding_level::full)};
}
void step_right(program const& p, ranks const& workers) { sequential(p, workers).run(); }

// The failures when each step is followed by a change. Steps are counted from 0.
rank_failures found_after(std::function<void(int, ranks const&)> change,
                          numerics level = numerics::ordered) {
  int steps = 0;
  auto const r = conformance::ranks_conform(
      whole_and_sharded(),
      [&](program const& p, ranks const& workers) {
        step_right(p, workers);
        change(steps++ % 2, workers);
      },
      level);
  CHECK(r.programs == 2);
  CHECK(steps == 4);
  return r.failures;
}
// Only some failures are asked for, because a wrong step makes the next one wrong.
bool says(rank_failures const& found, std::string const& what) {
  return std::find(found.begin(), found.end(), what) != found.end();
}
double& weight(ranks const& workers, std::size_t rank, int group, std::size_t i) {
  return workers[rank]->parameters(group)[i];
}

}  // namespace

TEST_CASE("ranks conform: right ranks have no failures at any level") {
  for (auto level : {numerics::ordered, numerics::any_order})
    CHECK(found_after([](int, ranks const&) {}, level) == rank_failures{});
}

TEST_CASE("ranks conform: ranks are delayed each by a seed, and see only what they keep") {
  std::vector<std::set<std::uint64_t>> seeds;
  conformance::ranks_conform(whole_and_sharded(), [&](program const& p, ranks const& workers) {
    seeds.push_back({});
    for (sharded_network* w : workers) {
      seeds.back().insert(w->delays);
      CHECK(std::isinf(w->norm()));  // that of the step before is forgotten
    }
    for (int stage = 0; stage < p.stage_count(); ++stage)
      for (sharded_network* w : workers)
        for (std::size_t i = 0; i < 9; ++i) {
          std::size_t const at = i * sizeof(double);
          bool const kept = p.sharding == sharding_level::none
                            || (at >= w->part().begin && at < w->part().begin + w->part().size);
          CHECK((w->parameters(stage)[i] == 1e300) == !kept);
        }
    step_right(p, workers);
  });
  REQUIRE(seeds.size() == 4);
  for (auto const& of_step : seeds) {
    CHECK(of_step.size() == 2);
    CHECK(!of_step.contains(0));
  }
  CHECK(seeds[0] != seeds[2]);  // of another program
}

TEST_CASE("ranks conform: a step that is not run is found, be it the first or the second") {
  for (int missing : {0, 1}) {
    int steps = 0;
    auto const r =
        conformance::ranks_conform(whole_and_sharded(), [&](program const& p, ranks const& workers) {
          if (steps++ % 2 != missing) step_right(p, workers);
        });
    for (char const* name : {"whole", "sharded"})
      for (char const* what :
           {": the gradients of stage 1 differ", ": the gradients of what stages have in common differ",
            ": the weights of stage 1 differ", ": the weights of what stages have in common differ",
            ": the norms differ", ": the losses differ", ": what work made differs"})
        CHECK_MESSAGE(says(r.failures, std::string(name) + what), name << what);
  }
}

TEST_CASE("ranks conform: one number of one rank's weights that differs is found") {
  auto const change = [](std::size_t rank, int group, std::size_t i) {
    return found_after([=](int step, ranks const& workers) {
      if (step == 1) weight(workers, rank, group, i) += 1e-6;
    });
  };
  // Element 0 is rank 0's to keep, element 8 rank 1's.
  CHECK(change(0, 1, 0)
        == rank_failures{"whole: the weights of stage 1 differ", "whole: the ranks differ",
                         "sharded: the weights of stage 1 differ"});
  CHECK(change(1, 0, 8)
        == rank_failures{"whole: the ranks differ", "sharded: the weights of stage 0 differ"});
  CHECK(change(0, 0, 8)
        == rank_failures{"whole: the weights of stage 0 differ", "whole: the ranks differ"});
  // Parameters in common are whole on every rank.
  CHECK(change(1, 2, 0) == rank_failures{"whole: the ranks differ", "sharded: the ranks differ"});
}

TEST_CASE("ranks conform: sums in any order may differ by a share of the largest number, and no more") {
  auto const change = [](double share) {
    return found_after(
        [=](int step, ranks const& workers) {
          double largest = 0;
          for (double w : workers[0]->parameters(2)) largest = std::max(largest, std::abs(w));
          for (std::size_t rank : {0U, 1U})
            if (step == 1) weight(workers, rank, 2, 1) += share * largest;
        },
        numerics::any_order);
  };
  CHECK(change(0.9 * conformance::any_order_bound) == rank_failures{});
  CHECK(change(1.1 * conformance::any_order_bound)
        == rank_failures{"whole: the weights of what stages have in common differ",
                         "sharded: the weights of what stages have in common differ"});
}

TEST_CASE("ranks conform: gradients that differ between ranks, or are of the wrong size, are found") {
  auto const tell = [](std::size_t rank, int group, std::vector<double> told) {
    return found_after([=](int step, ranks const& workers) mutable {
      if (step == 1)
        workers[rank]->reduced(told,
                               {.group = group, .gradient = std::as_writable_bytes(std::span(told))});
    });
  };
  CHECK(tell(1, 2, {1, 2, 3}) == rank_failures{"whole: the ranks differ", "sharded: the ranks differ"});
  rank_failures const of_wrong_size = tell(0, 1, {1, 2});
  for (char const* name : {"whole", "sharded"}) {
    CHECK(says(of_wrong_size, std::string(name) + ": the gradients of stage 1 differ"));
    CHECK(says(of_wrong_size,
               std::string(name) + ": the sizes of the gradient and the weights of stage 1 differ"));
  }
}

TEST_CASE("ranks conform: a rank that lost its norm, its losses or its work is found") {
  std::size_t const parts = program_at(sharding_level::none).program.work.view().parts.size();
  REQUIRE(parts > 0);
  auto const lost = [&](std::vector<std::string> const& first) {
    rank_failures all;
    for (char const* name : {"whole", "sharded"}) {
      for (std::string const& what : first) all.push_back(std::string(name) + what);
      all.insert(all.end(), parts, std::string(name) + ": what work made differs");
    }
    return all;
  };
  CHECK(found_after([](int step, ranks const& workers) {
          if (step == 1) workers[1]->forget();
        })
        == lost({": the norms differ", ": the losses differ"}));
  CHECK(found_after([](int step, ranks const& workers) {
          if (step == 0) workers[0]->take();
        })
        == lost({": the losses differ"}));
}

TEST_CASE("ranks conform: inference must tell of no gradient") {
  program const p =
      lower(catalog::find("inference")->make({devices{2}, micro_batches{2}}), {.data_ranks = 2});
  for (auto level : {numerics::ordered, numerics::any_order}) {
    auto const run = [&](bool tells) {
      return conformance::ranks_conform(
                 {{"served", p}},
                 [&](program const& given, ranks const& workers) {
                   step_right(given, workers);
                   std::vector<double> none(9);
                   if (tells)
                     for (sharded_network* w : workers)
                       w->reduced(none,
                                  {.group = 1, .gradient = std::as_writable_bytes(std::span(none))});
                 },
                 level)
          .failures;
    };
    CHECK(run(false) == rank_failures{});
    rank_failures const found = run(true);
    CHECK(says(found, "served: the gradients of stage 1 differ"));
    CHECK(says(found, "served: the sizes of the gradient and the weights of stage 1 differ"));
  }
}

TEST_CASE("ranks conform: sharded ranks descend as whole ones do") {
  auto const weights_at = [](sharding_level level) {
    program const p = program_at(level).program;
    conformance::data_parallel_ranks all(p);
    sequential reference(p, all.workers());
    std::vector<double> weights;
    for (int step = 0; step < 3; ++step) reference.run();
    for (int group = 0; group < p.groups.count(); ++group)
      for (double w : all.weights(group)) weights.push_back(w);
    CHECK(all.agrees());
    return weights;
  };
  std::vector<double> const whole = weights_at(sharding_level::none);
  for (auto level : {sharding_level::optimizer, sharding_level::full}) {
    std::vector<double> const sharded = weights_at(level);
    REQUIRE(sharded.size() == whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i)
      CHECK(sharded[i] == doctest::Approx(whole[i]).epsilon(1e-12));
  }
}
