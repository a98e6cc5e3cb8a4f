// Devices of one process: the catalog, in every mode, gives the bits of the sequential reference.
#include "random_cases.hpp"
#include "staged.hpp"
#include <ashlar/catalog.hpp>
#include <ashlar/conformance/conforms.hpp>
#include <ashlar/conformance/data_parallel_ranks.hpp>
#include <ashlar/cuda/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

using namespace ashlar;

namespace {

void require_some_conform(conformance::report const& r, int at_least) {
  CHECK(r.programs > at_least);
  for (std::string const& failure : r.failures) FAIL_CHECK(failure);
}
void require_conforms(conformance::report const& r) { require_some_conform(r, random_cases(150)); }

// Takes each fourth of the programs, of which there are three with different lanes; all with
// ASHLAR_ALL_TESTS. Below, all run as replayed graphs, whose first step is none: these are for devices
// that are late, and for what else the kit looks at.
std::vector<conformance::sample_program> each_fourth(std::vector<conformance::sample_program> all) {
  std::vector<conformance::sample_program> some;
  for (std::size_t i = 0; i < all.size(); i += static_cast<std::size_t>(4 / turns(4)))
    some.push_back(std::move(all[i]));
  return some;
}

std::vector<std::unique_ptr<cuda_test::staged_rank>> staged_ranks(
    std::vector<conformance::sharded_network*> const& of) {
  std::vector<std::unique_ptr<cuda_test::staged_rank>> all;
  for (conformance::sharded_network* w : of) all.push_back(std::make_unique<cuda_test::staged_rank>(*w));
  return all;
}

template <class W>
std::vector<W*> pointers(std::vector<std::unique_ptr<W>> const& all) {
  std::vector<W*> some;
  for (auto const& one : all) some.push_back(one.get());
  return some;
}

}  // namespace

TEST_CASE("cuda: virtual devices conform") {
  require_some_conform(conformance::conforms(each_fourth(listed_cases(conformance::sample_programs())),
                                             [](program const& p, conformance::network& w) {
                                               cuda_test::staged on_gpu(w);
                                               cuda::runtime(p, on_gpu, {.gpus = {0}}).run();
                                             }),
                       random_cases(80));
}

TEST_CASE("cuda: programs that offload conform, also as a replayed graph") {
  conformance::report r;
  for (conformance::sample_program const& sample : listed_cases(conformance::programs_that_offload()))
    conformance::conformance_detail::try_program(r, sample.name, [&](auto const& say) {
      conformance::network expected(sample.program), found(sample.program);
      sequential reference(sample.program, expected);
      cuda_test::staged on_gpu(found);
      cuda::runtime runtime(sample.program, on_gpu, {.gpus = {0}});
      say(runtime.host_slot_bytes() > 0, "nothing is pinned");
      for (int step = 1; step <= 3; ++step) {
        reference.run();
        runtime.run();
        say(expected.take() == found.take(), "step " + std::to_string(step) + " differs");
      }
    });
  require_conforms(r);
}

TEST_CASE("cuda: data-parallel ranks of virtual devices conform") {
  require_some_conform(
      conformance::ranks_conform(
          each_fourth(listed_cases(conformance::programs_of_ranks())),
          [](program const& p, std::vector<conformance::sharded_network*> const& workers) {
            auto const ranks = staged_ranks(workers);
            cuda::runtime(p, pointers(ranks), {.gpus = {0}}).run();
          }),
      random_cases(60));
}

// The third step is replayed for the second time.
TEST_CASE("cuda: a replayed graph has the bits of the steps that it was captured from") {
  conformance::report r;
  for (conformance::sample_program const& sample : listed_cases(conformance::sample_programs()))
    conformance::conformance_detail::try_program(r, sample.name, [&](auto const& say) {
      conformance::network expected(sample.program), found(sample.program);
      sequential reference(sample.program, expected);
      cuda_test::staged on_gpu(found);
      cuda::runtime runtime(sample.program, on_gpu, {.gpus = {0}});
      for (int step = 1; step <= 3; ++step) {
        reference.run();
        runtime.run();
        say(expected.take() == found.take(), "step " + std::to_string(step) + " differs");
      }
    });
  require_conforms(r);
}

TEST_CASE("cuda: a replayed graph trains data-parallel ranks") {
  conformance::report r;
  for (conformance::sample_program const& sample : listed_cases(conformance::programs_of_ranks()))
    conformance::conformance_detail::try_program(r, sample.name, [&](auto const& say) {
      conformance::data_parallel_ranks expected(sample.program), found(sample.program);
      sequential reference(sample.program, expected.workers());
      auto const ranks = staged_ranks(found.workers());
      cuda::runtime runtime(sample.program, pointers(ranks), {.gpus = {0}});
      for (int step = 1; step <= 3; ++step) {
        expected.forget();
        found.forget();
        reference.run();
        runtime.run();
        for (int group = 0; group < sample.program.groups.count(); ++group)
          say(expected.weights(group) == found.weights(group)
                  && expected.gradient(group) == found.gradient(group),
              "step " + std::to_string(step) + " differs in group " + std::to_string(group));
      }
    });
  require_conforms(r);
}

// Every entry on eight devices, larger than what the kit has; three steps each, of which two replay.
TEST_CASE("cuda: the catalog on eight virtual devices") {
  conformance::report r;
  for (catalog::entry const& e : catalog::entries) {
    catalog::shape const shape{devices{8}, micro_batches{8}};
    if (!e.check(shape).ok()) continue;
    conformance::conformance_detail::try_program(r, e.name, [&](auto const& say) {
      program const p = lower(e.make(shape));
      conformance::network expected(p), found(p);
      sequential reference(p, expected);
      cuda_test::staged on_gpu(found);
      cuda::runtime runtime(p, on_gpu, {.gpus = {0}});
      for (int step = 1; step <= 3; ++step) {
        reference.run();
        runtime.run();
        say(expected.take() == found.take(), "step " + std::to_string(step) + " differs");
      }
    });
  }
  CHECK(r.programs > 20);
  for (std::string const& failure : r.failures) FAIL_CHECK(failure);
}
