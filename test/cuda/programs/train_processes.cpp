// `ashlar train --backend cuda` in processes, started as torchrun starts them.
#include "../free_port.hpp"
#include "tool/training.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

using namespace training_test;

namespace {

struct job_result {
  std::vector<int> codes;            // by process
  std::vector<std::string> printed;  // on both streams
};

// A line of the shell for process `rank` of `size`, as torchrun starts it.
std::string process_line(int rank, int size, int port, std::string const& options) {
  std::string const n = std::to_string(rank);
  return "env NCCL_HOSTID=machine-" + n + " MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(port)
         + " RANK=" + n + " LOCAL_RANK=" + n + " WORLD_SIZE=" + std::to_string(size)
         + " '" ASHLAR_TOOL "' train --backend cuda" + tiny + corpus() + options;
}

// Runs `started` of `size` processes, all with these options.
job_result run_job(int size, int started, std::string const& options) {
  std::string line;
  int const port = free_port();
  auto const file = [](int rank, char const* what) {
    return (scratch() / (what + std::to_string(rank))).string();
  };
  for (int rank = 0; rank < started; ++rank)
    line += "(timeout 100 " + process_line(rank, size, port, options) + " >'" + file(rank, "said")
            + "' 2>&1; echo $? >'" + file(rank, "code") + "') & ";
  REQUIRE(std::system((line + "wait").c_str()) == 0);
  job_result r;
  for (int rank = 0; rank < started; ++rank) {
    r.codes.push_back(std::atoi(content(file(rank, "code")).c_str()));
    r.printed.push_back(content(file(rank, "said")));
  }
  return r;
}

// Kills the process of that rank among those that meet at the port; returns how many there were.
int kill_process(int rank, int port) {
  int killed = 0;
  for (auto const& entry : std::filesystem::directory_iterator("/proc")) {
    std::error_code error;
    auto const program = std::filesystem::read_symlink(entry.path() / "exe", error);
    if (error || program != std::filesystem::canonical(ASHLAR_TOOL)) continue;
    std::string const environment = '\0' + content(entry.path() / "environ");
    if (!contains(environment, std::string("\0RANK=", 6) + std::to_string(rank) + '\0')
        || !contains(environment, "MASTER_PORT=" + std::to_string(port) + '\0'))
      continue;
    killed += kill(static_cast<pid_t>(std::stol(entry.path().filename().string())), SIGKILL) == 0;
  }
  return killed;
}

}  // namespace

TEST_CASE("cuda train in processes: what one process learns, bit by bit") {
  for (int const size : {2, 4}) {
    std::string const what =
        " --schedule zb-h1 -m 4 --steps 3 --verify -p " + std::to_string(size) + " --save ";
    std::string const alone = fresh_folder("alone"), together = fresh_folder("together");
    REQUIRE(run_tool("train --backend cuda" + tiny + corpus() + what + alone, 100).code == 0);
    job_result const r = run_job(size, size, what + together);
    for (int rank = 0; rank < size; ++rank) {
      CAPTURE(r.printed[static_cast<std::size_t>(rank)]);
      CHECK(r.codes[static_cast<std::size_t>(rank)] == 0);
      CHECK(r.printed[static_cast<std::size_t>(rank)].empty() == (rank > 0));
    }
    CHECK(contains(r.printed[0], std::to_string(size) + " processes, NCCL between them"));
    CHECK(contains(r.printed[0], "verified"));
    CHECK(learned_after(together, 3) == learned_after(alone, 3));
  }
}

TEST_CASE("cuda train in processes: who does not fit is refused once, who does not come is named") {
  job_result const odd = run_job(2, 2, " --schedule 1f1b -p 3 -m 4 --steps 1");
  CHECK(odd.codes == std::vector{2, 2});
  CHECK(contains(odd.printed[0], "3 devices on 2 processes"));
  CHECK(odd.printed[1].empty());

  job_result const crowded = run_job(2, 2, " --schedule 1f1b -p 4 -m 4 --steps 1 --gpus 0");
  CHECK(crowded.codes == std::vector{2, 2});
  CHECK(contains(crowded.printed[0], "NCCL needs a GPU for each of the 2 devices of a process"));

  job_result const missing = run_job(2, 1, " --schedule 1f1b -p 2 -m 4 --steps 1 --deadline 0.1");
  CHECK(missing.codes[0] == 3);
  CHECK(contains(missing.printed[0], "nobody came as rank 1"));
}

TEST_CASE(
    "cuda train in processes: who is killed in the middle of the training is missed by the others") {
  int const port = free_port();
  std::string const options = " --schedule 1f1b -p 2 -m 4 --steps 1000000 --deadline 2";
  running_program const first(process_line(0, 2, port, options)),
      second(process_line(1, 2, port, options));
  first.wait_for("1/1000000");
  // The one that prints stays.
  CHECK(kill_process(1, port) == 1);
  tool_result const r = first.end();
  INFO(r.out);
  CHECK(r.code == 3);
  CHECK(contains(r.out, "process 0: "));
  CHECK(contains(r.out, "remote process exited or there was a network error"));
  CHECK(contains(r.out, "device 0 has "));
  CHECK(second.end().code != 0);
}

#if defined(ASHLAR_MPI_LAUNCH)
TEST_CASE("cuda train in processes: those that mpirun starts need no address") {
  std::string const alone = fresh_folder("alone"), together = fresh_folder("together");
  std::string const what = tiny + corpus() + " --schedule zb-h1 -m 4 --steps 2 -p 2 --save ";
  REQUIRE(run_tool("train --backend cuda" + what + alone, 100).code == 0);
  // The substitute has one GPU in each process.
  std::string const launched = ASHLAR_MPI_LAUNCH
      " 2 sh -c 'NCCL_HOSTID=$OMPI_COMM_WORLD_RANK exec "
      "\"" ASHLAR_TOOL "\" train --backend cuda";
  running_program const good(launched + what + together + "'");
  tool_result const r = good.end();
  CHECK_MESSAGE(r.code == 0, r.out);
  CHECK(contains(r.out, "2 processes, NCCL between them"));
  CHECK(learned_after(together, 2) == learned_after(alone, 2));

  running_program const odd(launched + tiny + corpus() + " --schedule 1f1b -p 3 -m 4 --steps 1'");
  tool_result const refused = odd.end();
  CHECK(refused.code == 2);
  CHECK(contains(refused.out, "3 devices on 2 processes"));
}
#endif
