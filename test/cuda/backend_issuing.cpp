// Calls that wait for other ranks while a step is put on the streams: the deadline ends them.
#include "substituted.hpp"
#include <ashlar/catalog.hpp>
#include <ashlar/cuda/runtime.hpp>
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>
#include <nccl_substitute.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <latch>
#include <optional>
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

struct ranks_said {
  std::string rank_0, rank_1;  // what each threw; empty: nothing
};

// Two ranks, each a thread with a GPU and a device of 1F1B, that take this many steps.
ranks_said run_ranks(int steps_of_0, int steps_of_1, cuda::run_options const& options) {
  program const p = lower(catalog::find("1f1b")->make({devices{2}, micro_batches{2}}));
  ncclUniqueId const id = cuda::make_group_id();
  ranks_said said;
  // Nobody runs before both are ready, and nobody goes while the other one runs.
  std::latch ready(2), done(2);
  auto const as_rank = [&](int me, int steps, std::string& threw) {
    cuda::on_gpu const here(me);
    nothing_to_do worker;
    std::optional<cuda::process_group> group;
    bool waits = true;
    try {
      group.emplace(id, 2, std::vector{cuda::local_device{me, me}});
      cuda::runtime<nothing_to_do> runtime(*group, p, {&worker}, options);
      waits = false;
      ready.arrive_and_wait();
      for (int step = 0; step < steps; ++step) runtime.run();
    } catch (std::exception const& e) {
      threw = e.what();
      if (waits) ready.count_down();
    }
    done.arrive_and_wait();
    if (group) group->abort();  // what the other one has not met
  };
  std::thread other([&] { as_rank(1, steps_of_1, said.rank_1); });
  as_rank(0, steps_of_0, said.rank_0);
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
  // It holds also if the call then fails in words of its own.
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
    cuda::run_options options{.mode = cuda::issue_mode::eager};
    options.deadline = std::chrono::milliseconds(1500);
    std::string const said = run_ranks(1, 0, options).rank_0;
    CAPTURE(said);
    CHECK(said.find("nothing has moved for 1500 ms; device 0 has ") == 0);
    bool const while_issued = said.find("; a call for its send 0F0 to device 1 (position ") != said.npos;
    CHECK(while_issued == calls_wait);
    CHECK(cuda_substitute::live() == cuda_substitute::live_objects{});
  }
  nccl_substitute::reset();
}

TEST_CASE("cuda: steps whose calls wait for other ranks are as good as others") {
  cuda_test::substituted const machine({.devices = 2});
  nccl_substitute::reset({.calls_wait = true});
  for (cuda::issue_mode const mode : {cuda::issue_mode::eager, cuda::issue_mode::replay}) {
    ranks_said const said = run_ranks(3, 3, {.mode = mode});
    CHECK(said.rank_0 == "");
    CHECK(said.rank_1 == "");
  }
  CHECK(cuda_substitute::live() == cuda_substitute::live_objects{});
  nccl_substitute::reset();
}

TEST_CASE("cuda: a rank that comes too late for the communicator is waited for until the deadline") {
  cuda_test::substituted const machine({.devices = 3, .list_calls = true});
  nccl_substitute::reset();
  ncclUniqueId const id = cuda::make_group_id();
  CHECK_THROWS_WITH_AS(cuda::process_group(id, 3, {{1, 1}, {2, 2}}, std::chrono::milliseconds(100)),
                       "the communicator of device 1 has not been made within 100 ms: not all of the 3 "
                       "devices have come",
                       cuda::stalled);
  // The communicator that waits there has been left behind, and is given back as soon as it is there.
  { cuda::process_group const late(id, 3, {{0, 0}}); }
  auto const given_back = [] {
    std::vector<std::string> const calls = cuda_substitute::calls();
    return std::count(calls.begin(), calls.end(), "ncclCommDestroy");
  };
  while (given_back() < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(cuda_substitute::live() == cuda_substitute::live_objects{});
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
