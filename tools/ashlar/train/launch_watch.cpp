#include "train/launch_watch.hpp"

#include "command.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stop_token>
#include <string>

namespace tool {

namespace {

[[noreturn]] void end(std::string const& why) {
  std::fputs(("ashlar: " + why + "\n").c_str(), stderr);
  std::fflush(stderr);
  std::_Exit(failed);
}

}  // namespace

bool is_launched() {
  for (char const* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (std::getenv(variable) != nullptr) return true;
  return false;
}

launch_watch::launch_watch(std::chrono::milliseconds deadline) {
  if (!is_launched()) return;
  thread_ = std::jthread([this, deadline, launcher = getppid()](std::stop_token const& over) {
    constexpr auto pause = std::chrono::milliseconds(20);
    for (auto const last = std::chrono::steady_clock::now() + deadline; !over.stop_requested();
         std::this_thread::sleep_for(pause)) {
      if (getppid() != launcher) end("the launcher has died");
      if (!started_ && std::chrono::steady_clock::now() >= last)
        end(fmt::format("MPI has not started within {} ms: not all processes have come",
                        deadline.count()));
    }
  });
}

}  // namespace tool
