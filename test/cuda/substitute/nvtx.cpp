// Ranges for a profiler, kept for tests.
#include "machine.hpp"

#include <nvtx3/nvToolsExt.h>

#include <mutex>

namespace cuda_substitute {
namespace {

thread_local int depth = 0;
std::mutex messages_mutex;
std::vector<std::string> messages;

}  // namespace

int open_ranges() { return depth; }

std::vector<std::string> ranges() {
  std::lock_guard const lock(messages_mutex);
  return messages;
}

void forget_ranges() {
  std::lock_guard const lock(messages_mutex);
  messages.clear();
}

}  // namespace cuda_substitute

int nvtxRangePushA(char const* message) {
  std::lock_guard const lock(cuda_substitute::messages_mutex);
  cuda_substitute::messages.emplace_back(message);
  return cuda_substitute::depth++;
}

int nvtxRangePop() { return --cuda_substitute::depth; }

void nvtxMarkA(char const*) {}
