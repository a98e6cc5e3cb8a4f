// One process with several GPUs: copies between them, sums that read each other's memory, and NCCL's
// groups; a step that is captured on all of them.
#include "random_cases.hpp"
#include "staged.hpp"
#include "substituted.hpp"
#include <ashlar/conformance/conforms.hpp>
#include <ashlar/conformance/data_parallel_ranks.hpp>
#include <ashlar/cuda/runtime.hpp>
#include <ashlar/run/sequential.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

using namespace ashlar;

namespace {

std::vector<conformance::sample_program> each_nth(std::vector<conformance::sample_program> const& all,
                                                  std::size_t n) {
  std::vector<conformance::sample_program> some;
  for (std::size_t i = 0; i < all.size(); i += n) some.push_back(all[i]);
  return some;
}

// Three steps, of which two are replayed, by a runtime that make(program, workers) makes.
template <class Make>
conformance::report three_steps(std::size_t n, Make make) {
  conformance::report r;
  for (auto const& sample : listed_cases(each_nth(conformance::programs_of_ranks(), n)))
    conformance::conformance_detail::try_program(r, sample.name, [&](auto const& say) {
      program const& p = sample.program;
      conformance::data_parallel_ranks expected(p), found(p);
      sequential reference(p, expected.workers());
      std::vector<std::unique_ptr<cuda_test::staged_rank>> ranks;
      std::vector<cuda_test::staged_rank*> workers;
      for (conformance::sharded_network* w : found.workers()) {
        ranks.push_back(std::make_unique<cuda_test::staged_rank>(*w));
        workers.push_back(ranks.back().get());
      }
      auto const runtime = make(p, workers);
      for (int step = 1; step <= 3; ++step) {
        expected.forget();
        found.forget();
        reference.run();
        runtime->run();
        for (int group = 0; group < p.groups.count(); ++group)
          say(expected.weights(group) == found.weights(group)
                  && expected.gradient(group) == found.gradient(group),
              "step " + std::to_string(step) + " differs in group " + std::to_string(group));
      }
    });
  return r;
}

using staged_runtime = cuda::runtime<cuda_test::staged_rank>;

void require_conforms(conformance::report const& r, int at_least) {
  CHECK(r.programs >= at_least);
  for (std::string const& failure : r.failures) FAIL_CHECK(failure);
}

}  // namespace

TEST_CASE("cuda: devices take turns on three GPUs of one process") {
  cuda_test::substituted const machine({.devices = 3});
  require_conforms(three_steps(7,
                               [](program const& p, std::vector<cuda_test::staged_rank*> const& w) {
                                 return std::make_unique<staged_runtime>(p, w);
                               }),
                   9);
}

TEST_CASE("cuda: NCCL between the GPUs of one process") {
  int const most = 8;
  cuda_test::substituted const machine({.devices = most});
  std::unique_ptr<cuda::process_group> group;
  require_conforms(three_steps(11,
                               [&](program const& p, std::vector<cuda_test::staged_rank*> const& w) {
                                 int const size = p.device_count() * p.data_ranks;
                                 std::vector<cuda::local_device> devices;
                                 for (int n = 0; n < size; ++n) devices.push_back({n, n % most});
                                 group = std::make_unique<cuda::process_group>(cuda::make_group_id(),
                                                                               size, devices);
                                 return std::make_unique<staged_runtime>(*group, p, w);
                               }),
                   6);
  group.reset();
  CHECK(cuda_substitute::live() == cuda_substitute::live_objects{});
}
