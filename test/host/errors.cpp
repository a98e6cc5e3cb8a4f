// A step that cannot end well ends soon, with the reason, and the next one runs.
#include "../shapes.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/conformance/network.hpp>
#include <ashlar/conformance/sharded_network.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace ashlar;

namespace {

program half() { return catalog::find("v-half")->make({devices{4}, micro_batches{4}}) | lower(); }

// Runs `act`, which must throw long before the default deadline; returns the message.
template <class Exception, class Act>
std::string thrown_soon(Act act) {
  auto const start = std::chrono::steady_clock::now();
  try {
    act();
  } catch (Exception const& e) {
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
    return e.what();
  }
  FAIL("nothing was thrown");
  return {};
}

// Outputs become smaller from stage to stage, and gradients with them.
struct confused {
  value_layout layout(value_key key) const {
    return {(10 - static_cast<std::size_t>(key.of)) * sizeof(double), 64, element_type::f64};
  }
  void forward(auto&, frame const&) {}
  void backward(auto&, frame const&) {}
};

}  // namespace

TEST_CASE("host: gradients of the size of a stage's output are refused before any thread starts") {
  confused w;
  program const p = shapes::one_f_one_b(3, 2) | lower();
  std::string const why =
      "device 1, 1B0: the gradient that stage 1 gives stage 0 has 72 bytes, and the output of "
      "stage 0 has 80: layout() gives a gradient the size of stage 1's input, not of its output";
  CHECK(thrown_soon<std::length_error>([&] { host::runtime(p, w); }) == why);
  CHECK(thrown_soon<std::length_error>([&] { sequential(p, w); }) == why);
}

TEST_CASE("host: a worker that throws on any device ends the step, and the runtime can be used again") {
  program const p = half();
  for (auto mode : {host::send_mode::rendezvous, host::send_mode::buffered}) {
    conformance::network w(p.stage_count(), p.micro_batch_count());
    host::runtime runtime(p, w, {.mode = mode});
    runtime.run();
    auto const right = w.take();
    for (instruction const& i : p.instructions) {
      if (i.code != opcode::compute || i.what.micro_batch % 3 != 0) continue;
      w.before_pass = [&](pass what) {
        if (what == i.what) throw std::runtime_error("out of luck");
      };
      CHECK(thrown_soon<std::runtime_error>([&] { runtime.run(); }) == "out of luck");
      w.before_pass = [](pass) {};
      w.take();
      runtime.run();
      CHECK(w.take() == right);
    }
  }
}

TEST_CASE("host: an exception out of reduced() ends the step as well") {
  program const p = half();
  conformance::network w(p.stage_count(), p.micro_batch_count());
  host::runtime runtime(p, w);
  for (int stage = 0; stage < p.stage_count(); ++stage) {
    w.before_reduced = [&](int s) {
      if (s == stage) throw std::runtime_error("no room");
    };
    CHECK(thrown_soon<std::runtime_error>([&] { runtime.run(); }) == "no room");
  }
  w.before_reduced = [](int) {};
  runtime.run();
}

TEST_CASE("host: an exception out of a replica's reduced() ends the step as well") {
  program const p = shapes::two_ways(2) | repeat(micro_batches{4}) | squeeze() | lower();
  conformance::network w(p.stage_count(), p.micro_batch_count());
  host::runtime runtime(p, w);
  runtime.run();
  auto const right = w.take();
  std::atomic<int> calls = 0;
  for (int failing = 1; failing <= 4; ++failing) {
    calls = 0;
    w.before_reduced = [&](int) {
      if (++calls == failing) throw std::runtime_error("no room");
    };
    CHECK(thrown_soon<std::runtime_error>([&] { runtime.run(); }) == "no room");
  }
  w.before_reduced = [](int) {};
  w.take();
  runtime.run();
  CHECK(w.take() == right);
}

TEST_CASE("host: an exception also ends a device that waits for nothing") {
  // All weight passes come last, so that both devices are through with each other before the first.
  block const late = make_block(linear(devices{2}), {}, 4, {shapes::F, shapes::I, shapes::W},
                                [](pass_kind kind, int stage) -> tick {
                                  if (kind == shapes::F) return stage;
                                  return kind == shapes::I ? 3 - stage : 102 + stage;
                                });
  program const p = late | repeat(micro_batches{16}) | squeeze() | lower();
  conformance::network w(p.stage_count(), p.micro_batch_count());
  host::runtime runtime(p, w);
  std::atomic<int> weight_passes = 0;
  w.before_pass = [&](pass what) {
    if (what.kind != pass_kind::backward_weight) return;
    ++weight_passes;
    if (what.stage == 1) throw std::runtime_error("out of luck");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  };
  CHECK(thrown_soon<std::runtime_error>([&] { runtime.run(); }) == "out of luck");
  CHECK(weight_passes < 16);
}

TEST_CASE("host: a worker may take longer than the deadline") {
  for (program const& p :
       {half(), shapes::two_ways(2) | repeat(micro_batches{2}) | squeeze() | lower()}) {
    conformance::network w(p.stage_count(), p.micro_batch_count());
    host::runtime runtime(p, w, {.deadline = std::chrono::milliseconds(100)});
    auto const dawdle = [](bool yes) {
      if (yes) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    };
    w.before_pass = [&](pass what) { dawdle(what == pass{pass_kind::forward, 0, 1}); };
    w.before_reduced = [&](int stage) { dawdle(stage == 1); };
    runtime.run();
  }
}

TEST_CASE("host: options that cannot be are refused") {
  program const p = half();
  conformance::network w(p.stage_count(), p.micro_batch_count());
  CHECK_THROWS_AS(host::runtime(p, w, {.mode = host::send_mode::buffered, .buffered_depth = 0}),
                  std::invalid_argument);
}

TEST_CASE("host: an invalid program is refused") {
  program p = half();
  std::size_t send = 0;
  while (p.instructions[send].code != opcode::send) ++send;
  std::swap(p.instructions[send - 1], p.instructions[send]);  // before what it sends is made
  conformance::network w(p.stage_count(), p.micro_batch_count());
  CHECK_THROWS_AS(host::runtime(p, w), violation);
}

TEST_CASE("host: a program that nobody proved cannot hang the caller") {
  program const good = catalog::find("1f1b")->make({devices{2}, micro_batches{2}}) | lower();
  auto const where = [&](opcode code, int nth) {
    std::size_t at = 0;
    for (; at < good.instructions.size(); ++at)
      if (good.instructions[at].code == code && nth-- == 0) break;
    return at;
  };

  SUBCASE("a receive whose send never comes") {
    program p = good;
    std::size_t const send = where(opcode::send, 1);
    p.instructions.erase(p.instructions.begin() + static_cast<std::ptrdiff_t>(send));
    for (std::size_t d = 1; d < p.stream_begin.size(); ++d) --p.stream_begin[d];
    conformance::network w(2, 2);
    host::runtime runtime(program_source::unproved(p.view()), w,
                          {.deadline = std::chrono::milliseconds(200)});
    std::string const why = thrown_soon<host::stalled>([&] { runtime.run(); });
    CHECK(why.find("device 1 has waited ") != std::string::npos);
    CHECK(why.find(" ms for device 0: receive 0F1 from device 0 (position ") != std::string::npos);
    CHECK(why.find(" of step 1); device 1 ") != std::string::npos);
  }
  SUBCASE("the same on data-parallel ranks, each of which is named") {
    program const ranks =
        catalog::find("1f1b")->make({devices{2}, micro_batches{2}}) | lower({.data_ranks = 2});
    program p = ranks;
    std::size_t send = 0;  // of micro-batch 1
    while (p.instructions[send].code != opcode::send || p.instructions[send].what.micro_batch != 1)
      ++send;
    p.instructions.erase(p.instructions.begin() + static_cast<std::ptrdiff_t>(send));
    for (std::size_t d = 1; d < p.stream_begin.size(); ++d) --p.stream_begin[d];
    conformance::sharded_network first(ranks, 0), second(ranks, 1);
    host::runtime<conformance::sharded_network> runtime(program_source::unproved(p.view()),
                                                        std::vector{&first, &second},
                                                        {.deadline = std::chrono::milliseconds(200)});
    std::string const why = thrown_soon<host::stalled>([&] { runtime.run(); });
    CHECK(why.find("rank 0, device 1 has waited ") != std::string::npos);
    CHECK(why.find("; rank 1, device 1 has waited ") != std::string::npos);
    CHECK(why.find(" ms for rank 1, device 0: receive 0F1 from device 0") != std::string::npos);
  }
  SUBCASE("receives in the wrong order") {
    program p = good;
    auto const first = static_cast<std::size_t>(p.stream_begin[1]);
    std::size_t const one = where(opcode::receive, 2), two = where(opcode::receive, 3);
    CHECK(one >= first);
    std::swap(p.instructions[one].what, p.instructions[two].what);
    conformance::network w(2, 2);
    host::runtime runtime(program_source::unproved(p.view()), w,
                          {.deadline = std::chrono::milliseconds(200)});
    std::string const why = thrown_soon<host::mismatched_transfer>([&] { runtime.run(); });
    CHECK(why
          == "mismatched transfer: device 0 sent 0F0 for stage 1 (24 bytes), device 1 was to receive 0F1 "
             "for stage 1 (24 bytes)");
  }
  SUBCASE("replicas that reduce in different orders") {
    program p = shapes::two_ways(2) | repeat(micro_batches{2}) | squeeze() | lower();
    std::vector<std::size_t> reductions;
    for (auto i = static_cast<std::size_t>(p.stream_begin[1]); i < p.instructions.size(); ++i)
      if (p.instructions[i].code == opcode::all_reduce) reductions.push_back(i);
    REQUIRE(reductions.size() == 2);
    std::swap(p.instructions[reductions[0]], p.instructions[reductions[1]]);
    conformance::network w(2, p.micro_batch_count());
    host::runtime runtime(program_source::unproved(p.view()), w,
                          {.deadline = std::chrono::milliseconds(200)});
    std::string const why = thrown_soon<host::stalled>([&] { runtime.run(); });
    CHECK(why.find("device 0 has waited ") != std::string::npos);
    CHECK(why.find(" ms for device 1: all-reduce stage ") != std::string::npos);
    CHECK(why.find("device 1 has waited ") != std::string::npos);
    CHECK(why.find(" ms for device 0: all-reduce stage ") != std::string::npos);
  }
  SUBCASE("lanes and peers that are not there") {
    conformance::network w(2, 2);
    auto const refused = [&](auto change) {
      program p = good;
      change(p);
      CHECK_THROWS_AS(host::runtime(program_source::unproved(p.view()), w), std::invalid_argument);
    };
    std::size_t const send = where(opcode::send, 0);
    refused([&](program& p) { p.instructions[send].lane = 99; });
    refused([&](program& p) { p.instructions[send].lane = -1; });
    refused([&](program& p) { p.instructions[send].peer = 2; });
    refused([&](program& p) { p.instructions[send].peer = -1; });
  }
}
