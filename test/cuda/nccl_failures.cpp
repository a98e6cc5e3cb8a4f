// Wrong calls, lost ranks and aborts in the substitute of NCCL.
#include "nccl_ranks.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace nccl_tests {

TEST_CASE("nccl: sizes that do not match are an error on both sides") {
  for (std::size_t const staging : {0U, 1024U}) {
    new_machine(2, 1, staging);
    auto const said = on_ranks(2, [](rank& r) {
      auto const m = r.put(std::vector<char>(100));
      require_ok(r.me == 0 ? ncclSend(m.data(), 100, ncclInt8, 1, r.comm, r.stream)
                           : ncclRecv(m.data(), 99, ncclInt8, 0, r.comm, r.stream));
      if (r.me == 1) {
        require_that(r.noticed() == ncclInvalidUsage);
        require_that(std::string(ncclGetLastError(r.comm))
                     == "rank 1 receives 99 bytes where rank 0 sends 100");
        require_that(!r.idle());  // until it is aborted
      } else {
        require_that(r.noticed() == ncclInvalidUsage);
      }
      r.abort();
    });
    CHECK(said == all_quiet(2));
  }
}

TEST_CASE("nccl: collective calls that do not match are an error on all sides") {
  new_machine(3);
  // A rank that aborts before the others have heard of it is one more error to them.
  std::latch all_have_noticed(3);
  auto const said = on_ranks(3, [&](rank& r) {
    auto const m = r.put(std::vector<int>(8));
    require_ok(
        ncclAllReduce(m.data(), m.data(), r.me == 2 ? 7 : 8, ncclInt32, ncclSum, r.comm, r.stream));
    ncclResult_t const noticed = r.noticed();
    all_have_noticed.arrive_and_wait();
    require_that(noticed == ncclInvalidUsage);
    r.abort();
  });
  CHECK(said == all_quiet(3));
}

TEST_CASE("nccl: a transfer that meets a collective call hangs until it is aborted") {
  new_machine(2);
  auto const said = on_ranks(2, [](rank& r) {
    auto const m = r.put(std::vector<int>(8));
    require_ok(r.me == 0 ? ncclSend(m.data(), 8, ncclInt32, 1, r.comm, r.stream)
                         : ncclAllReduce(m.data(), m.data(), 8, ncclInt32, ncclSum, r.comm, r.stream));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    require_that(!r.idle());
    r.abort();
    r.wait();
  });
  CHECK(said == all_quiet(2));
}

TEST_CASE("nccl: what was not received is not a number") {
  new_machine(2);
  auto const said = on_ranks(2, [](rank& r) {
    if (r.me == 0) return r.abort();
    auto const m = r.put(std::vector<float>(8));
    require_ok(ncclRecv(m.data(), 8, ncclFloat32, 0, r.comm, r.stream));
    require_that(r.noticed() == ncclRemoteError);
    // Nothing more can be called.
    require_that(ncclSend(m.data(), 8, ncclFloat32, 0, r.comm, r.stream) == ncclRemoteError);
    r.abort();
    for (float const x : r.get<float>(m)) require_that(std::isnan(x));
  });
  CHECK(said == all_quiet(2));
}

TEST_CASE("nccl: a rank that has gone is noticed while nothing runs") {
  new_machine(3);
  auto const said = on_ranks(3, [](rank& r) {
    if (r.me == 1) return r.abort();
    require_that(r.noticed() == ncclRemoteError);
    r.abort();
  });
  CHECK(said == all_quiet(3));
}

TEST_CASE(
    "nccl: who destroys a communicator in order does not disturb the others, unless they need it") {
  new_machine(3);
  // A rank that needs rank 2 aborts, which the other one would notice.
  std::latch both_were_quiet(2);
  auto const said = on_ranks(3, [&](rank& r) {
    auto const m = r.put(std::vector<int>(8));
    if (r.me == 2) return;  // destroyed at once
    for (int i = 0; i < 5; ++i)
      require_ok(r.me == 0 ? ncclSend(m.data(), 8, ncclInt32, 1, r.comm, r.stream)
                           : ncclRecv(m.data(), 8, ncclInt32, 0, r.comm, r.stream));
    r.wait();
    ncclResult_t code = ncclSuccess;
    require_ok(ncclCommGetAsyncError(r.comm, &code));
    require_ok(code);
    both_were_quiet.arrive_and_wait();
    require_ok(ncclRecv(m.data(), 8, ncclInt32, 2, r.comm, r.stream));
    require_that(r.noticed() == ncclRemoteError);
    r.abort();
  });
  CHECK(said == all_quiet(3));
}

// Rank 0 needs nothing more when the others still wait for each other.
TEST_CASE("nccl: who leaves a collective call first does not disturb the others") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    new_machine(4, seed);
    auto const said = on_ranks(4, [](rank& r) {
      auto const m = r.put(std::vector<int>(100'000, r.me));
      require_ok(ncclAllReduce(m.data(), m.data(), 100'000, ncclInt32, ncclSum, r.comm, r.stream));
      r.wait();
    });
    CHECK(said == all_quiet(4));
  }
}

TEST_CASE("nccl: an abort ends all that was called for, however much it is") {
  new_machine(2);
  auto const said = on_ranks(2, [](rank& r) {
    auto const m = r.put(std::vector<int>(8));
    for (int i = 0; i < 50; ++i) {
      // The other one may have aborted by now.
      ncclResult_t const code = ncclRecv(m.data(), 8, ncclInt32, 1 - r.me, r.comm, r.stream);
      require_that(code == ncclSuccess || code == ncclRemoteError);
    }
    r.abort();
    r.wait();
  });
  CHECK(said == all_quiet(2));
}

TEST_CASE("nccl: an error noticed by choice") {
  new_machine(1);
  auto const said = on_ranks(1, [](rank& r) {
    nccl_substitute::notice(r.comm, ncclSystemError);
    require_that(r.noticed() == ncclSystemError);
    r.abort();
  });
  CHECK(said == all_quiet(1));
}

TEST_CASE("nccl: wrong arguments are refused") {
  new_machine(2);
  auto const said = on_ranks(2, [](rank& r) {
    auto const m = r.put(std::vector<int>(8));
    std::vector<int> host(8);
    auto const refused = [&](void const* memory, std::size_t count, int type, int peer, ncclComm_t comm,
                             cudaStream_t stream) {
      auto const t = static_cast<ncclDataType_t>(type);
      require_that(ncclSend(memory, count, t, peer, comm, stream) == ncclInvalidArgument);
      // At the end of the group the error comes again, and nothing of the group happens.
      require_ok(ncclGroupStart());
      require_ok(ncclRecv(m.data(), 1, ncclInt32, 1 - r.me, r.comm, r.stream));
      require_that(ncclSend(memory, count, t, peer, comm, stream) == ncclInvalidArgument);
      require_that(ncclGroupEnd() == ncclInvalidArgument);
      r.wait();
    };
    refused(m.data(), 8, ncclInt32, 2, r.comm, r.stream);
    refused(m.data(), 8, ncclInt32, -1, r.comm, r.stream);
    refused(m.data(), 9, ncclInt32, 0, r.comm, r.stream);  // beyond the allocation
    refused(host.data(), 8, ncclInt32, 0, r.comm, r.stream);
    refused(nullptr, 8, ncclInt32, 0, r.comm, r.stream);
    refused(m.data(), 8, ncclNumTypes, 0, r.comm, r.stream);
    refused(m.data(), 8, ncclInt32, 0, nullptr, r.stream);
    require_ok(cudaSetDevice(1 - r.me));
    auto const other = ashlar::cuda::stream::make();
    refused(m.data(), 8, ncclInt32, 0, r.comm, other.get());
    require_ok(cudaSetDevice(r.me));
  });
  CHECK(said == all_quiet(2));
  CHECK(ncclGroupEnd() == ncclInvalidUsage);
}

TEST_CASE("nccl: a communicator that was given back is none") {
  new_machine(1);
  auto const said = on_ranks(1, [](rank& r) {
    ncclComm_t const before = r.comm;
    require_ok(ncclCommDestroy(r.comm));
    r.comm = nullptr;
    ncclResult_t code{};
    require_that(ncclCommGetAsyncError(before, &code) == ncclInvalidArgument);
    require_that(ncclCommDestroy(before) == ncclInvalidArgument);
    require_that(ncclCommAbort(before) == ncclInvalidArgument);
  });
  CHECK(said == all_quiet(1));
  CHECK(nccl_substitute::live_communicators() == 0);
}

TEST_CASE("nccl: every call can be made to fail") {
  cuda_substitute::reset({.devices = 1, .list_calls = true});
  nccl_substitute::reset();
  ncclUniqueId id;
  cuda_substitute::fail_call(0, cudaErrorUnknown);
  CHECK(ncclGetUniqueId(&id) == ncclUnhandledCudaError);
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  ncclComm_t comm = nullptr;
  cuda_substitute::fail_call(0, cudaErrorUnknown);
  CHECK(ncclCommInitRank(&comm, 1, id, 0) == ncclUnhandledCudaError);
  REQUIRE(ncclCommInitRank(&comm, 1, id, 0) == ncclSuccess);
  // A call that gives something back does so all the same.
  cuda_substitute::fail_call(0, cudaErrorUnknown);
  CHECK(ncclCommDestroy(comm) == ncclUnhandledCudaError);
  CHECK(nccl_substitute::live_communicators() == 0);
  CHECK(cuda_substitute::calls()
        == std::vector<std::string>{"ncclGetUniqueId", "ncclGetUniqueId", "ncclCommInitRank",
                                    "ncclCommInitRank", "ncclCommDestroy"});
}

}  // namespace nccl_tests
