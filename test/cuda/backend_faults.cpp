// Any call may fail in any phase: the error names it, nothing hangs, and nothing is left over.
#include "random_cases.hpp"
#include "staged.hpp"
#include "substitute/substitute.hpp"
#include <ashlar/catalog.hpp>
#include <ashlar/conformance/data_parallel_ranks.hpp>
#include <ashlar/cuda/runtime.hpp>
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>
#include <nccl_substitute.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace ashlar;

namespace {

program program_of_faults() {
  return lower(catalog::find("zb-h1")->make({devices{2}, micro_batches{2}}),
               {.data_ranks = 2, .sharding = sharding_level::full, .step = optimizer_step::after_norm});
}

enum class means : unsigned char { copies, nccl };

// Makes two steps: issued, and captured and replayed.
void two_steps(program const& p, cuda::issue_mode mode, means between = means::copies) {
  conformance::data_parallel_ranks nets(p);
  std::vector<std::unique_ptr<cuda_test::staged_rank>> ranks;
  std::vector<cuda_test::staged_rank*> workers;
  for (conformance::sharded_network* w : nets.workers()) {
    ranks.push_back(std::make_unique<cuda_test::staged_rank>(*w));
    workers.push_back(ranks.back().get());
  }
  cuda::run_options const options{.mode = mode, .deadline = std::chrono::seconds(20)};
  auto const run = [](auto& runtime) {
    runtime.run();
    runtime.run();
  };
  if (between == means::copies) {
    cuda::runtime runtime(p, workers, options);
    return run(runtime);
  }
  cuda::process_group group(cuda::make_group_id(), 4, {{0, 0}, {1, 1}, {2, 2}, {3, 3}});
  cuda::runtime runtime(group, p, workers, options);
  run(runtime);
}

struct thrower {
  int passes = 0;
  static value_layout layout(value_key) { return {64, 64, element_type::f32}; }
  void forward(cuda::queue&, frame const&) {
    if (++passes == 3) throw std::domain_error("the worker has had enough");
  }
  void backward(cuda::queue&, frame const&) {}
};

// Its passes take longer than any deadline.
struct sleeper {
  std::chrono::milliseconds sleep{0};
  static value_layout layout(value_key) { return {64, 64, element_type::f32}; }
  void forward(cuda::queue& q, frame const&) {
    ASHLAR_CUDA(
        cudaLaunchHostFunc, q.stream,
        [](void* of) { std::this_thread::sleep_for(static_cast<sleeper*>(of)->sleep); }, this);
  }
  void backward(cuda::queue&, frame const&) {}
};

}  // namespace

TEST_CASE("cuda: an error at any call ends cleanly and names the call") {
  program const p = program_of_faults();
  for (cuda::issue_mode mode : {cuda::issue_mode::replay, cuda::issue_mode::eager}) {
    cuda_substitute::reset({.list_calls = true});
    two_steps(p, mode);
    std::vector<std::string> const calls = cuda_substitute::calls();
    REQUIRE(calls.size() > 500);
    std::size_t named = 0, located = 0;
    // Tries each of the first and last calls, and a sample between. Polls come and go, and what gives
    // back or asks whether something has failed is not asked whether it has failed itself.
    std::size_t const most = static_cast<std::size_t>(many_cases(60, 120)), step = 7 * 120 / most;
    for (std::size_t nth = 0; nth < calls.size();
         nth += nth < most || nth + most / 2 > calls.size() ? 1 : step) {
      cuda_substitute::reset();
      cuda_substitute::fail_call(nth, cudaErrorUnknown);
      std::string said;
      try {
        two_steps(p, mode);
      } catch (cuda::error const& e) {
        said = e.what();
        CHECK(said.find(e.call()) != std::string::npos);
        CHECK(e.reason().find("cudaErrorUnknown") != std::string::npos);
        ++named;
        if (e.where().find("device ") != std::string::npos) ++located;
      }
      CAPTURE(calls[nth]);
      CAPTURE(said);
      CHECK(cuda_substitute::live() == cuda_substitute::live_objects{});
      CHECK(cuda_substitute::open_ranges() == 0);
    }
    CHECK(named > most);
    CHECK(located > most / 2);
  }
  cuda_substitute::reset();
}

// The number of times that a program asks how things stand depends on the time, so calls are chosen by
// their name and number of that name; of those that ask, the first ones.
TEST_CASE("cuda: an error at any call of NCCL's ends cleanly, too") {
  struct chosen_call {
    std::string name;
    std::size_t nth;
  };
  program const p = program_of_faults();
  cuda_substitute::settings machine{.devices = 4, .list_calls = true};
  cuda_substitute::reset(machine);
  two_steps(p, cuda::issue_mode::replay, means::nccl);
  std::vector<chosen_call> chosen;
  std::map<std::string, std::size_t> made;
  for (std::string const& name : cuda_substitute::calls()) {
    std::size_t const nth = made[name]++;
    if (name.find("nccl") == 0 && (name != "ncclCommGetAsyncError" || nth < 8))
      chosen.push_back({name, nth});
  }
  REQUIRE(chosen.size() > 100);
  machine.list_calls = false;
  std::size_t const most = static_cast<std::size_t>(random_cases(48)), step = chosen.size() / most;
  std::size_t named = 0, located = 0;
  for (std::size_t i = 0; i < chosen.size(); i += step) {
    cuda_substitute::reset(machine);
    cuda_substitute::fail_call_of(chosen[i].name, chosen[i].nth, cudaErrorUnknown);
    CAPTURE(chosen[i].name);
    CAPTURE(chosen[i].nth);
    try {
      two_steps(p, cuda::issue_mode::replay, means::nccl);
    } catch (cuda::error const& e) {
      CHECK(e.call() == chosen[i].name);
      CHECK(std::string(e.what()).find(e.call()) != std::string::npos);
      ++named;
      if (e.where().find("device ") != std::string::npos) ++located;
    } catch (cuda::stalled const& e) {
      CHECK(std::string(e.what()).find("ncclCommGetAsyncError") == 0);
    }
    CHECK(cuda_substitute::live() == cuda_substitute::live_objects{});
    CHECK(nccl_substitute::live_communicators() == 0);
  }
  CHECK(named > 3 * most / 4);
  CHECK(located > 3 * most / 4);
  cuda_substitute::reset();
}

TEST_CASE("cuda: a fault on a device is reported once, and no further step is run") {
  program const p = lower(catalog::find("1f1b")->make({devices{2}, micro_batches{2}}));
  std::size_t operations = 0;  // of a step
  for (int quarter : {0, 1, 3}) {
    cuda_substitute::reset();
    conformance::network net(p);
    {
      cuda_test::staged worker(net);
      cuda::runtime runtime(p, worker);
      REQUIRE(cudaDeviceSynchronize()
              == cudaSuccess);  // what the constructor has begun is no part of the step
      std::size_t const before = cuda_substitute::operation_count();
      if (quarter == 0) {
        runtime.run();
        REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
        operations = cuda_substitute::operation_count() - before;
        REQUIRE(operations >= 8);
        continue;
      }
      cuda_substitute::fail_operation(operations * static_cast<std::size_t>(quarter) / 4,
                                      cudaErrorIllegalAddress);
      CHECK_THROWS_WITH_AS(runtime.run(), doctest::Contains("illegal"), cuda::error);
      CHECK_THROWS_AS(runtime.run(), std::logic_error);
    }
  }
  cuda_substitute::reset();
}

TEST_CASE("cuda: what a worker throws comes through, in a step that is issued or captured") {
  program const p = lower(catalog::find("1f1b")->make({devices{2}, micro_batches{2}}));
  cuda_substitute::reset();
  for (int before : {0, 4}) {
    thrower worker{.passes = -before};
    cuda::runtime runtime(p, worker);
    if (before > 0) runtime.run();
    CHECK_THROWS_AS(runtime.run(), std::domain_error);
    CHECK_THROWS_AS(runtime.run(), std::logic_error);
  }
  CHECK(cuda_substitute::live() == cuda_substitute::live_objects{});
}

TEST_CASE("cuda: a step that stands still is reported with where its devices are") {
  program const p = lower(catalog::find("1f1b")->make({devices{2}, micro_batches{2}}));
  cuda_substitute::reset();
  sleeper worker;
  cuda::runtime runtime(p, worker, {.deadline = std::chrono::milliseconds(150)});
  runtime.run();
  worker.sleep = std::chrono::milliseconds(600);
  CHECK_THROWS_WITH_AS(
      runtime.run(),
      "nothing has moved for 150 ms; device 0 has done clear stage 0 (position 0 of step "
      "2) and not yet 0F0 (position 1 of step 2); device 1 has done clear stage 1 "
      "(position 0 of step 2) and not yet 1F0 (position 2 of step 2)",
      cuda::stalled);
}
