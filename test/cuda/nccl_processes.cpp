// The substitute of NCCL between processes. Each is this program again, with one test case to run: the
// variables that follow tell it who it is.
#include "nccl_ranks.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

extern char** environ;

namespace nccl_tests {

std::string hex(ncclUniqueId const& id) {
  std::string text;
  for (char const c : id.internal) {
    std::array<char, 3> two{};
    std::snprintf(two.data(), two.size(), "%02x", static_cast<unsigned char>(c));
    text += two.data();
  }
  return text;
}
ncclUniqueId id_in(std::string const& text) {
  ncclUniqueId id{};
  for (std::size_t i = 0; i < sizeof id.internal; ++i)
    id.internal[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return id;
}

std::string variable(char const* name) {
  char const* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

// Another process of this program; it ends with the value.
class process {
 public:
  explicit process(std::vector<std::string> const& more_environment) {
    std::vector<std::string> arguments{"/proc/self/exe", "--no-skip",
                                       "-tc=nccl: one of several processes"};
    std::vector<std::string> variables = more_environment;
    for (char** e = environ; *e != nullptr; ++e) variables.emplace_back(*e);
    if (::posix_spawn(&number_, "/proc/self/exe", nullptr, nullptr, pointers(arguments).data(),
                      pointers(variables).data())
        != 0)
      throw std::runtime_error("no process");
  }
  process(process&& other) noexcept : number_(std::exchange(other.number_, 0)) {}
  ~process() {
    if (number_ == 0) return;
    kill();
    static_cast<void>(end());
  }
  void kill() const { ::kill(number_, SIGKILL); }
  int end() {
    int status = 0;
    ::waitpid(std::exchange(number_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (std::string& t : texts) all.push_back(t.data());
    all.push_back(nullptr);
    return all;
  }
  pid_t number_ = 0;
};

enum class hosts { one, different };

std::vector<process> processes(int size, std::string const& plan, hosts h = hosts::one) {
  ncclUniqueId id;
  require_ok(ncclGetUniqueId(&id));
  std::vector<process> all;
  for (int r = 0; r < size; ++r) {
    std::vector<std::string> variables{"NCCL_TEST_PLAN=" + plan, "NCCL_TEST_RANK=" + std::to_string(r),
                                       "NCCL_TEST_SIZE=" + std::to_string(size),
                                       "NCCL_TEST_ID=" + hex(id)};
    if (h == hosts::different) variables.push_back("NCCL_HOSTID=" + std::to_string(r));
    all.emplace_back(variables);
  }
  return all;
}

// All ranks send to all others and add up; the last of them may be killed after that.
void run_as_process(rank& r, std::string const& plan) {
  std::vector<int> mine(100'000);
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = r.me + static_cast<int>(i);
  auto const from = r.put(mine), to = r.put(std::vector<int>(mine.size()));
  require_ok(ncclGroupStart());
  require_ok(ncclSend(from.data(), mine.size(), ncclInt32, (r.me + 1) % r.size, r.comm, r.stream));
  require_ok(
      ncclRecv(to.data(), mine.size(), ncclInt32, (r.me + r.size - 1) % r.size, r.comm, r.stream));
  require_ok(ncclGroupEnd());
  auto const got = r.get<int>(to);
  for (std::size_t i = 0; i < got.size(); ++i)
    require_that(got[i] == (r.me + r.size - 1) % r.size + static_cast<int>(i));
  require_ok(ncclAllReduce(from.data(), to.data(), mine.size(), ncclInt32, ncclSum, r.comm, r.stream));
  auto const sums = r.get<int>(to);
  for (std::size_t i = 0; i < sums.size(); ++i)
    require_that(sums[i] == r.size * (r.size - 1) / 2 + r.size * static_cast<int>(i));
  if (plan != "killed") return;
  // The last one goes when all have their sums.
  if (r.me == r.size - 1) {
    for (int p = 0; p < r.me; ++p) require_ok(ncclRecv(to.data(), 8, ncclInt32, p, r.comm, r.stream));
    r.wait();
    ::kill(::getpid(), SIGKILL);
  }
  require_ok(ncclSend(to.data(), 8, ncclInt32, r.size - 1, r.comm, r.stream));
  require_that(r.noticed() == ncclRemoteError);
  r.abort();
  r.wait();
}

TEST_CASE("nccl: one of several processes" * doctest::skip()) {
  int const me = std::stoi(variable("NCCL_TEST_RANK")), size = std::stoi(variable("NCCL_TEST_SIZE"));
  bool const shares = variable("NCCL_TEST_PLAN") == "one GPU";
  new_machine(size, static_cast<std::uint64_t>(me));
  REQUIRE(cudaSetDevice(shares ? 0 : me) == cudaSuccess);
  rank r{.me = me, .size = size};
  ncclResult_t const made = ncclCommInitRank(&r.comm, size, id_in(variable("NCCL_TEST_ID")), me);
  if (shares && variable("NCCL_HOSTID").empty()) {
    CHECK(made == ncclInvalidUsage);
    return;
  }
  REQUIRE(made == ncclSuccess);
  auto const stream = ashlar::cuda::stream::make();
  r.stream = stream.get();
  CHECK_NOTHROW(run_as_process(r, variable("NCCL_TEST_PLAN")));
  if (r.comm != nullptr) CHECK(ncclCommDestroy(r.comm) == ncclSuccess);
}

TEST_CASE("nccl: processes exchange and add up") {
  new_machine(1);
  for (int const size : {1, 2, 4}) {
    auto all = processes(size, "");
    for (process& p : all) CHECK(p.end() == 0);
  }
}

TEST_CASE("nccl: a process that is killed is noticed by the others") {
  new_machine(1);
  auto all = processes(3, "killed");
  CHECK(all[0].end() == 0);
  CHECK(all[1].end() == 0);
  CHECK(all[2].end() == -1);
}

TEST_CASE("nccl: two processes on one GPU are refused, unless they are said to be on two machines") {
  new_machine(1);
  for (hosts const h : {hosts::one, hosts::different}) {
    auto all = processes(2, "one GPU", h);
    for (process& p : all) CHECK(p.end() == 0);
  }
}

}  // namespace nccl_tests
