// Calls that wait for other ranks while a step is put on the streams: the deadline ends them.
#include "substituted.hpp"
#include <ashlar/catalog.hpp>
#include <ashlar/cuda/runtime.hpp>
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>
#include <nccl_substitute.hpp>

#include <chrono>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace ashlar;

namespace {

struct nothing_to_do {
  static value_layout layout(value_key) { return {64, 64, element_type::f32}; }
  void forward(cuda::queue&, frame const&) {}
  void backward(cuda::queue&, frame const&) {}
};

// Of two ranks, each a thread with a GPU and a device of 1F1B: rank 1 takes so many steps, and then
// waits until rank 0 has run `steps`. What rank 0 threw.
std::string said_by_rank_0(std::chrono::milliseconds deadline) {
  program const p = lower(catalog::find("1f1b")->make({devices{2}, micro_batches{2}}));
  ncclUniqueId const id = cuda::make_group_id();
  std::string said;
  std::latch rank_0_is_done(1);
  auto const as_rank = [&](int me) {
    cuda::on_gpu const here(me);
    nothing_to_do worker;
    cuda::process_group group(id, 2, {{me, me}});
    try {
      cuda::runtime<nothing_to_do> runtime(group, p, {&worker},
                                           {.mode = cuda::issue_mode::eager, .deadline = deadline});
      if (me == 0)
        runtime.run();
      else
        rank_0_is_done.wait();
    } catch (cuda::stalled const& e) {
      if (me == 0) said = e.what();
    }
    if (me == 0) rank_0_is_done.count_down();
    group.abort();  // what the other one has not met
  };
  std::thread other([&] { as_rank(1); });
  as_rank(0);
  other.join();
  return said;
}

}  // namespace

TEST_CASE("cuda watchdog: what look() throws ends the call and comes through") {
  cuda::watchdog dog;
  for (int round = 0; round < 20; ++round) {
    std::latch ended(1);
    auto const look = [] { throw std::domain_error("too late"); };
    CHECK_THROWS_WITH_AS(dog.guard([&] { ended.wait(); }, look, [&] { ended.count_down(); }), "too late",
                         std::domain_error);
  }
  // Also if the call then fails in words of its own.
  std::latch ended(1);
  auto const act = [&] {
    ended.wait();
    throw std::logic_error("somebody has ended me");
  };
  CHECK_THROWS_WITH_AS(
      dog.guard(
          act, [] { throw std::domain_error("too late"); }, [&] { ended.count_down(); }),
      "too late", std::domain_error);
}

TEST_CASE("cuda watchdog: once a call is over nobody looks after it") {
  for (int round = 0; round < 50; ++round) {
    cuda::watchdog dog;
    int looked = 0, done = 0;  // that a thread sanitizer sees races on
    for (int call = 0; call < 20; ++call) {
      dog.guard([&] { ++done; }, [&] { ++looked; }, [] {});
      ++looked;
    }
    CHECK(done == 20);
    CHECK(looked >= 20);
  }
  cuda::watchdog dog;
  CHECK_THROWS_AS(dog.guard([] { throw std::domain_error("its own"); }, [] {}, [] {}),
                  std::domain_error);
}

TEST_CASE("cuda: a call that waits for a rank while a step is issued ends at the deadline") {
  for (bool const calls_wait : {true, false}) {
    cuda_test::substituted const machine({.devices = 2});
    nccl_substitute::reset({.calls_wait = calls_wait});
    std::string const said = said_by_rank_0(std::chrono::milliseconds(1500));
    CAPTURE(said);
    CHECK(said.find("nothing has moved for 1500 ms; device 0 has ") == 0);
    bool const while_issued = said.find("; a call for its send 0F0 to device 1 (position ") != said.npos;
    CHECK(while_issued == calls_wait);
    CHECK(cuda_substitute::live() == cuda_substitute::live_objects{});
  }
  nccl_substitute::reset();
}

TEST_CASE("cuda: a rank that does not come to the first meeting is waited for until the deadline") {
  cuda_test::substituted const machine({.devices = 2});
  for (bool const calls_wait : {true, false}) {
    nccl_substitute::reset({.calls_wait = calls_wait});
    ncclUniqueId const id = cuda::make_group_id();
    std::latch over(1);
    std::thread absent([&] {
      cuda::on_gpu const here(1);
      cuda::process_group group(id, 2, {{1, 1}});
      over.wait();
      group.abort();
    });
    cuda::process_group group(id, 2, {{0, 0}});
    CHECK_THROWS_WITH_AS(group.gather_all(std::vector<std::byte>(8), std::chrono::milliseconds(100)),
                         "not all processes have met within 100 ms", cuda::stalled);
    // After an abort no call is made any more.
    CHECK_THROWS_WITH_AS(group.calls([] {}), "ncclGroupStart: the communicator was aborted",
                         cuda::error);
    over.count_down();
    absent.join();
  }
  nccl_substitute::reset();
}
