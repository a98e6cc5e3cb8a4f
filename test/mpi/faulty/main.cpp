// A training run in which one process goes wrong: mpirun -n 4 faulty FAULT PROCESS [DEADLINE_MS].
#include <ashlar/catalog/entries.hpp>
#include <ashlar/conformance/network.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/mpi/runtime.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace ashlar;

int train(std::string const& fault, int faulty, std::chrono::milliseconds deadline) {
  int me = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  bool const wrong = me == faulty;
  if (fault == "absent" && wrong) std::this_thread::sleep_for(std::chrono::minutes(10));
  if (fault == "version") {
    ashlar::identity mine;
    mine.version[0] = wrong ? '2' : '1';
    mine.version[1] = '\0';
    mpi::require_same(MPI_COMM_WORLD, mine, deadline);
  }
  char const* const name = fault == "schedule" && wrong ? "gpipe" : "1f1b";
  program const p = catalog::find(name)->make({devices{4}, micro_batches{8}}) | lower();
  conformance::network w(p);
  if (fault == "shape" && wrong) w.message_bytes = 1024;
  int step = 0;
  w.before_pass = [&](pass what) {
    if (!wrong || step != 2 || what != pass{pass_kind::forward, faulty, 5}) return;
    if (fault == "killed") std::raise(SIGKILL);
    if (fault == "stopped") std::raise(SIGSTOP);
    if (fault == "throws") throw std::runtime_error("out of luck");
    if (fault == "slow") std::this_thread::sleep_for(3 * deadline);
  };
  mpi::runtime runtime(MPI_COMM_WORLD, p, w, {.deadline = deadline});
  for (; step < 4; ++step) {
    if (fault == "idle" && wrong && step == 2) std::this_thread::sleep_for(std::chrono::minutes(10));
    runtime.run();
  }
  if (me == 0) std::puts("trained");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: faulty FAULT PROCESS [DEADLINE_MS]\n", stderr);
    return 2;
  }
  std::chrono::milliseconds const deadline{argc > 3 ? std::atoi(argv[3]) : 3000};
  return mpi::launch(argc, argv, [&] { return train(argv[1], std::atoi(argv[2]), deadline); });
}
