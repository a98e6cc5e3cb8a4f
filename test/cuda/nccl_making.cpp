// Communicators of the substitute of NCCL are made and split.
#include "nccl_ranks.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace nccl_tests {

// Adds up the ranks over the communicator, one thread for all.
std::vector<int> sums_of_ranks(std::vector<ncclComm_t> const& comms) {
  std::vector<ashlar::cuda::device_memory> memory;
  std::vector<ashlar::cuda::stream> streams;
  for (std::size_t i = 0; i < comms.size(); ++i) {
    int device = -1, me = -1;
    require_ok(ncclCommCuDevice(comms[i], &device));
    require_ok(ncclCommUserRank(comms[i], &me));
    ashlar::cuda::on_gpu const here(device);
    memory.emplace_back(sizeof me);
    streams.push_back(ashlar::cuda::stream::make());
    require_ok(cudaMemcpy(memory[i].data(), &me, sizeof me, cudaMemcpyHostToDevice));
  }
  require_ok(ncclGroupStart());
  for (std::size_t i = 0; i < comms.size(); ++i)
    require_ok(ncclAllReduce(memory[i].data(), memory[i].data(), 1, ncclInt32, ncclSum, comms[i],
                             streams[i].get()));
  require_ok(ncclGroupEnd());
  std::vector<int> sums(comms.size());
  for (std::size_t i = 0; i < comms.size(); ++i) {
    require_ok(cudaStreamSynchronize(streams[i].get()));
    require_ok(cudaMemcpy(&sums[i], memory[i].data(), sizeof(int), cudaMemcpyDeviceToHost));
  }
  return sums;
}

TEST_CASE("nccl: one thread makes the communicators of several devices") {
  new_machine(4);
  std::vector<ncclComm_t> comms(4);
  SUBCASE("in a group") {
    ncclUniqueId id;
    REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
    REQUIRE(ncclGroupStart() == ncclSuccess);
    for (int r = 0; r < 4; ++r) {
      ashlar::cuda::on_gpu const here(3 - r);
      REQUIRE(ncclCommInitRank(&comms[at(r)], 4, id, r) == ncclSuccess);
    }
    REQUIRE(ncclGroupEnd() == ncclSuccess);
    int device = -1, count = -1;
    CHECK(ncclCommCuDevice(comms[0], &device) == ncclSuccess);
    CHECK(device == 3);
    CHECK(ncclCommCount(comms[0], &count) == ncclSuccess);
    CHECK(count == 4);
  }
  SUBCASE("by a list") { REQUIRE(ncclCommInitAll(comms.data(), 4, nullptr) == ncclSuccess); }
  CHECK(sums_of_ranks(comms) == std::vector<int>{6, 6, 6, 6});
  CHECK(nccl_substitute::live_communicators() == 4);
  for (ncclComm_t const c : comms) CHECK(ncclCommDestroy(c) == ncclSuccess);
  CHECK(nccl_substitute::live_communicators() == 0);
}

TEST_CASE("nccl: several communicators in one group") {
  new_machine(2);
  std::vector<ncclComm_t> first(2), second(2);
  REQUIRE(ncclCommInitAll(first.data(), 2, nullptr) == ncclSuccess);
  REQUIRE(ncclCommInitAll(second.data(), 2, nullptr) == ncclSuccess);
  CHECK(sums_of_ranks({first[0], second[0], first[1], second[1]}) == std::vector<int>{1, 1, 1, 1});
}

TEST_CASE("nccl: a GPU has one rank of a communicator, unless its hosts are said to differ") {
  new_machine(2);
  std::array<ncclComm_t, 2> comms{};
  std::array<int, 2> const same{1, 1};
  CHECK(ncclCommInitAll(comms.data(), 2, same.data()) == ncclInvalidUsage);
  CHECK(std::string(ncclGetLastError(nullptr)).starts_with("Duplicate GPU detected"));
  CHECK(comms[0] == nullptr);
  CHECK(nccl_substitute::live_communicators() == 0);
}

TEST_CASE("nccl: ranks that never come, come twice or count differently") {
  new_machine(3);
  nccl_substitute::reset({.timeout = std::chrono::milliseconds(300)});
  // Takes each rank as (rank, size).
  auto const made_with = [](std::vector<std::array<int, 2>> const& who) {
    ncclUniqueId id;
    require_ok(ncclGetUniqueId(&id));
    std::vector<ncclComm_t> comms(who.size());
    require_ok(ncclGroupStart());
    for (std::size_t i = 0; i < who.size(); ++i) {
      ashlar::cuda::on_gpu const here(static_cast<int>(i));
      require_ok(ncclCommInitRank(&comms[i], who[i][1], id, who[i][0]));
    }
    ncclResult_t const code = ncclGroupEnd();
    require_that(comms[0] == nullptr);
    return code;
  };
  CHECK(made_with({{0, 3}, {1, 3}}) == ncclSystemError);
  CHECK(std::string(ncclGetLastError(nullptr)) == "not all ranks have come in time");
  CHECK(made_with({{0, 2}, {0, 2}}) == ncclInvalidUsage);
  CHECK(std::string(ncclGetLastError(nullptr)) == "rank 0 came twice");
  // The rank that comes first tells the size.
  CHECK(made_with({{0, 2}, {1, 3}}) == ncclInvalidUsage);
  CHECK(nccl_substitute::live_communicators() == 0);
}

TEST_CASE("nccl: wrong ids, ranks and configurations are refused") {
  new_machine(1);
  ncclUniqueId id{};
  ncclComm_t comm = nullptr;
  CHECK(ncclCommInitRank(&comm, 1, id, 0) == ncclInvalidArgument);
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  CHECK(ncclCommInitRank(&comm, 1, id, 1) == ncclInvalidArgument);
  CHECK(ncclCommInitRank(&comm, 0, id, 0) == ncclInvalidArgument);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  CHECK(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclInvalidArgument);
  config.blocking = 1;
  CHECK(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclSuccess);
  CHECK(ncclCommFinalize(comm) == ncclSuccess);
  CHECK(ncclCommDestroy(comm) == ncclSuccess);
}

TEST_CASE("nccl: communicators are split by colour and ordered by key") {
  new_machine(5);
  auto const said = on_ranks(5, [](rank& r) {
    // ranks 0, 2 and 4 are in reverse order, 1 is alone, 3 is left out
    int const color = r.me % 2 == 0 ? 7 : r.me == 1 ? 2 : NCCL_SPLIT_NOCOLOR;
    for (int round = 0; round < 2; ++round) {
      rank part{0, 0, nullptr, r.stream};
      require_ok(ncclCommSplit(r.comm, color, -r.me, &part.comm, nullptr));
      require_that((part.comm == nullptr) == (r.me == 3));
      if (part.comm == nullptr) continue;
      require_ok(ncclCommUserRank(part.comm, &part.me));
      require_ok(ncclCommCount(part.comm, &part.size));
      require_that(part.size == (r.me == 1 ? 1 : 3));
      require_that(part.me == (r.me == 1 ? 0 : (4 - r.me) / 2));
      auto const m = r.put(std::vector<int>{r.me});
      require_ok(ncclAllReduce(m.data(), m.data(), 1, ncclInt32, ncclSum, part.comm, r.stream));
      require_that(r.get<int>(m) == std::vector<int>{r.me == 1 ? 1 : 6});
      require_ok(ncclCommDestroy(part.comm));
    }
    // The whole communicator is as it was.
    auto const m = r.put(std::vector<int>{r.me});
    require_ok(ncclAllReduce(m.data(), m.data(), 1, ncclInt32, ncclMax, r.comm, r.stream));
    require_that(r.get<int>(m) == std::vector<int>{4});
  });
  CHECK(said == all_quiet(5));
}

}  // namespace nccl_tests
