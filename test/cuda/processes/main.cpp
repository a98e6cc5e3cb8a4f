// A doctest program that several processes run together. `--launch N ...` starts N of them, as a
// launcher would, and ends all when one fails.
#define DOCTEST_CONFIG_IMPLEMENT
#include "../free_port.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

void set(char const* name, std::string const& value) { setenv(name, value.c_str(), 1); }

int launch(int count, char** argv) {
  std::string const port = std::to_string(free_port());
  std::vector<pid_t> all;
  for (int rank = 0; rank < count; ++rank) {
    pid_t const child = fork();
    if (child == 0) {
      set("RANK", std::to_string(rank));
      set("LOCAL_RANK", std::to_string(rank));
      set("WORLD_SIZE", std::to_string(count));
      set("MASTER_ADDR", "127.0.0.1");
      set("MASTER_PORT", port);
      // NCCL takes processes on one GPU for those of several machines.
      set("NCCL_HOSTID", "test-" + std::to_string(rank));
      set("NCCL_SOCKET_IFNAME", "lo");
      execv("/proc/self/exe", argv);
      _exit(127);
    }
    all.push_back(child);
  }
  int failed = 0;
  for (int left = count; left > 0; --left) {
    int status = 0;
    wait(&status);
    if (status != 0 && failed == 0) {
      failed = 1;
      for (pid_t child : all) kill(child, SIGTERM);
    }
  }
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "--launch") == 0) {
    int const count = std::atoi(argv[2]);
    argv[2] = argv[0];
    return launch(count, argv + 2);
  }
  doctest::Context context(argc, argv);
  return context.run();
}
