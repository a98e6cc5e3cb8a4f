// Sends and receives of the substitute of NCCL.
#include "nccl_ranks.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace nccl_tests {

TEST_CASE("nccl: transfers arrive in the order of their calls") {
  for (std::size_t const staging : {0U, 64U, 1U << 20U}) {
    CAPTURE(staging);
    new_machine(2, staging + 1, staging);
    auto const said = on_ranks(2, [](rank& r) {
      // of many sizes, the last one larger than what sockets hold
      std::vector<std::size_t> const sizes{1, 7, 0, 100, 1, 5'000, 3'000'000};
      std::vector<array> memory;
      for (std::size_t const n : sizes) {
        memory.push_back(
            r.put(std::vector<std::uint8_t>(n, r.me == 0 ? static_cast<std::uint8_t>(n) : 0)));
        std::byte* const m = n > 0 ? memory.back().data() : nullptr;
        require_ok(r.me == 0 ? ncclSend(m, n, ncclUint8, 1, r.comm, r.stream)
                             : ncclRecv(m, n, ncclUint8, 0, r.comm, r.stream));
      }
      for (std::size_t i = 0; i < sizes.size(); ++i)
        require_that(r.get<std::uint8_t>(memory[i])
                     == std::vector<std::uint8_t>(sizes[i], static_cast<std::uint8_t>(sizes[i])));
    });
    CHECK(said == all_quiet(2));
  }
}

TEST_CASE("nccl: head-on transfers in a group, of all with all and with themselves") {
  for (int const size : {1, 2, 3, 8}) {
    CAPTURE(size);
    new_machine(size);
    auto const said = on_ranks(size, [](rank& r) {
      std::vector<int> mine(at(r.size) * 50'000), zero(mine.size());
      for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = r.me * 1'000'000 + static_cast<int>(i);
      auto const out = r.put(mine), in = r.put(zero);
      std::size_t const part = 50'000 * sizeof(int);
      require_ok(ncclGroupStart());
      for (int p = 0; p < r.size; ++p) {
        require_ok(ncclSend(out.data() + at(p) * part, part, ncclUint8, p, r.comm, r.stream));
        require_ok(ncclRecv(in.data() + at(p) * part, 50'000, ncclInt32, p, r.comm, r.stream));
      }
      require_ok(ncclGroupEnd());
      auto const got = r.get<int>(in);
      for (std::size_t i = 0; i < got.size(); ++i)
        require_that(got[i]
                     == static_cast<int>(i / 50'000) * 1'000'000 + r.me * 50'000
                            + static_cast<int>(i % 50'000));
    });
    CHECK(said == all_quiet(size));
  }
}

// Both ranks send first, each for itself.
std::vector<std::string> head_on(std::size_t bytes, bool passes) {
  return on_ranks(2, [=](rank& r) {
    auto const out = r.put(std::vector<char>(bytes, 'a')), in = r.put(std::vector<char>(bytes, 'b'));
    require_ok(ncclSend(out.data(), bytes, ncclInt8, 1 - r.me, r.comm, r.stream));
    require_ok(ncclRecv(in.data(), bytes, ncclInt8, 1 - r.me, r.comm, r.stream));
    if (!passes) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      require_that(!r.idle(), "they passed each other");
      return r.abort();
    }
    require_that(r.get<char>(in) == std::vector<char>(bytes, 'a'));
  });
}

TEST_CASE("nccl: head-on transfers without a group hang until they are aborted") {
  new_machine(2);
  CHECK(head_on(4, false) == all_quiet(2));
  // With a buffer, small messages pass and large ones do not.
  new_machine(2, 1, 64);
  CHECK(head_on(64, true) == all_quiet(2));
  CHECK(head_on(65, false) == all_quiet(2));
}

TEST_CASE("nccl: a buffer is free again once its receive was there") {
  new_machine(2, 1, 64);
  auto const said = on_ranks(2, [](rank& r) {
    auto const m = r.put(std::vector<char>(64, static_cast<char>('a' + r.me))),
               in = r.put(std::vector<char>(64));
    for (int i = 0; i < 20; ++i)
      for (int const from : {0, 1})
        require_ok(r.me == from ? ncclSend(m.data(), 64, ncclInt8, 1 - r.me, r.comm, r.stream)
                                : ncclRecv(in.data(), 64, ncclInt8, 1 - r.me, r.comm, r.stream));
    // They pass each other as long as one of them has the buffer.
    require_ok(ncclSend(m.data(), 64, ncclInt8, 1 - r.me, r.comm, r.stream));
    require_ok(ncclRecv(in.data(), 64, ncclInt8, 1 - r.me, r.comm, r.stream));
    require_that(r.get<char>(in) == std::vector<char>(64, static_cast<char>('b' - r.me)));
  });
  CHECK(said == all_quiet(2));
}

TEST_CASE("nccl: operations of a communicator are in one order on all its streams") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    new_machine(2, seed);
    auto const said = on_ranks(2, [](rank& r) {
      auto const other = ashlar::cuda::stream::make();
      auto const m = r.put(std::vector<int>(8));
      std::vector<int> const mine{1, 2, 3, 4, 5, 6, 7, 8};
      auto const from = r.put(mine);
      for (int i = 0; i < 8; ++i) {
        cudaStream_t const s = i % 2 == 0 ? r.stream : other.get();
        std::size_t const place = at(i) * sizeof(int);
        require_ok(r.me == 0 ? ncclSend(from.data() + place, 1, ncclInt32, 1, r.comm, s)
                             : ncclRecv(m.data() + place, 1, ncclInt32, 0, r.comm, s));
      }
      require_ok(cudaStreamSynchronize(other.get()));
      if (r.me == 1) require_that(r.get<int>(m) == mine);
    });
    CHECK(said == all_quiet(2));
  }
}

TEST_CASE("nccl: a group on several streams comes after and before what they do") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    new_machine(2, seed);
    auto const said = on_ranks(2, [](rank& r) {
      auto const other = ashlar::cuda::stream::make();
      auto const out = r.put(std::vector<int>{0}), in = r.put(std::vector<int>{0}),
                 copy = r.put(std::vector<int>{0});
      int const value = 5 + r.me;
      require_ok(cudaMemcpyAsync(out.data(), &value, sizeof value, cudaMemcpyHostToDevice, r.stream));
      require_ok(ncclGroupStart());
      require_ok(ncclRecv(in.data(), 1, ncclInt32, 1 - r.me, r.comm, other.get()));
      require_ok(ncclSend(out.data(), 1, ncclInt32, 1 - r.me, r.comm, r.stream));
      require_ok(ncclGroupEnd());
      // `r.stream` has not received, but it was part of the group
      require_ok(
          cudaMemcpyAsync(copy.data(), in.data(), sizeof value, cudaMemcpyDeviceToDevice, r.stream));
      require_that(r.get<int>(copy) == std::vector<int>{6 - r.me});
      require_ok(cudaStreamSynchronize(other.get()));
    });
    CHECK(said == all_quiet(2));
  }
}

TEST_CASE("nccl: transfers are captured and replayed") {
  new_machine(2, 7);
  auto const said = on_ranks(2, [](rank& r) {
    auto const other = ashlar::cuda::stream::make();
    auto const fork = ashlar::cuda::event::make(), join = ashlar::cuda::event::make();
    auto const m = r.put(std::vector<int>{r.me == 0 ? 1 : 0, r.me == 0 ? 2 : 0});
    auto const transfer = [&](std::size_t place, cudaStream_t s) {
      require_ok(r.me == 0 ? ncclSend(m.data() + place, 1, ncclInt32, 1, r.comm, s)
                           : ncclRecv(m.data() + place, 1, ncclInt32, 0, r.comm, s));
    };
    require_ok(cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeThreadLocal));
    require_ok(cudaEventRecord(fork.get(), r.stream));
    require_ok(cudaStreamWaitEvent(other.get(), fork.get(), 0));
    transfer(0, r.stream);
    transfer(sizeof(int), other.get());  // nothing but the communicator orders it
    require_ok(cudaEventRecord(join.get(), other.get()));
    require_ok(cudaStreamWaitEvent(r.stream, join.get(), 0));
    cudaGraph_t made = nullptr;
    require_ok(cudaStreamEndCapture(r.stream, &made));
    ashlar::cuda::graph const g(made);
    cudaGraphExec_t runs = nullptr;
    require_ok(cudaGraphInstantiate(&runs, made, 0));
    ashlar::cuda::executable_graph const e(runs);
    for (int i = 0; i < 20; ++i) require_ok(cudaGraphLaunch(runs, r.stream));
    require_that(r.get<int>(m) == std::vector<int>{1, 2});
  });
  CHECK(said == all_quiet(2));
}

}  // namespace nccl_tests
