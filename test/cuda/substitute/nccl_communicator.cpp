// The live communicators, questions to them, and their return.
#include "nccl_communicator.hpp"

#include "substitute.hpp"

#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace nccl_substitute {
namespace {

using ashlar::cuda::socket_clock;

// This is never destroyed: operations that never end may outlive the program's end.
struct library {
  std::mutex mutex;
  settings chosen;
  std::map<ncclComm_t, communicator_ptr> alive;
  std::uintptr_t handles = 0;  // they are numbers, and never come again
  std::shared_ptr<std::atomic<bool>> stop = std::make_shared<std::atomic<bool>>(false);
  std::string words;
};
library& the_library() {
  static library& l = *new library;
  return l;
}

communicator_ptr taken(ncclComm_t handle) {
  library& l = the_library();
  std::lock_guard const lock(l.mutex);
  auto const found = l.alive.find(handle);
  if (found == l.alive.end()) return nullptr;
  communicator_ptr c = found->second;
  l.alive.erase(found);
  return c;
}

// Waits until all calls are over; false: not in time, or they never will be.
bool waited_for(communicator const& c) {
  auto const end = socket_clock::now() + chosen().timeout;
  while (!has_ended(c)) {
    if (c.traffic.error() != ncclSuccess || socket_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace

std::shared_ptr<std::atomic<bool>> stopped_by_reset() {
  library& l = the_library();
  std::lock_guard const lock(l.mutex);
  return l.stop;
}

settings chosen() {
  library& l = the_library();
  std::lock_guard const lock(l.mutex);
  return l.chosen;
}

bool has_ended(communicator const& c) {
  std::lock_guard const lock(cuda_substitute::the_machine().mutex);
  return !c.last || c.last->done();
}

communicator_ptr find(ncclComm_t handle) {
  library& l = the_library();
  std::lock_guard const lock(l.mutex);
  auto const found = l.alive.find(handle);
  return found == l.alive.end() ? nullptr : found->second;
}

ncclResult_t injected(char const* name) {
  return cuda_substitute::injected(name) == cudaSuccess
             ? ncclSuccess
             : refuse(ncclUnhandledCudaError, std::string(name) + ": chosen to fail");
}

ncclResult_t refuse(ncclResult_t code, std::string const& words) {
  library& l = the_library();
  std::lock_guard const lock(l.mutex);
  l.words = words;
  return code;
}

ncclResult_t make_all(std::vector<pending_make> const& calls) {
  std::vector<communicator_ptr> made(calls.size());
  std::vector<ncclResult_t> codes(calls.size(), ncclSuccess);
  std::vector<std::thread> makers;
  for (std::size_t i = 0; i < calls.size(); ++i)
    makers.emplace_back([&, i] {
      try {
        made[i] = calls[i].make(calls[i].device);
      } catch (bootstrap_failed const& e) {
        codes[i] = refuse(e.code(), e.what());
      }
    });
  for (std::thread& t : makers) t.join();
  for (ncclResult_t const code : codes)
    if (code != ncclSuccess) {
      for (communicator_ptr const& c : made)
        if (c) c->traffic.abort();
      return code;
    }
  library& l = the_library();
  std::lock_guard const lock(l.mutex);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!made[i]) continue;
    *calls[i].into = reinterpret_cast<ncclComm_t>(++l.handles);
    l.alive[*calls[i].into] = made[i];
  }
  return ncclSuccess;
}

std::string words_of_last_refusal() {
  library& l = the_library();
  std::lock_guard const lock(l.mutex);
  return l.words;
}

void reset(settings const& chosen) {
  library& l = the_library();
  std::map<ncclComm_t, communicator_ptr> left;
  {
    std::lock_guard const lock(l.mutex);
    left.swap(l.alive);
    *l.stop = true;
    l.stop = std::make_shared<std::atomic<bool>>(false);
    l.chosen = chosen;
    l.words.clear();
  }
  for (auto const& [handle, c] : left) c->traffic.abort();
  forget_group();
}

std::size_t live_communicators() {
  library& l = the_library();
  std::lock_guard const lock(l.mutex);
  return l.alive.size();
}

void notice(ncclComm_t comm, ncclResult_t error) {
  if (communicator_ptr const c = find(comm)) c->traffic.fail(error, "noticed by choice of the test");
}

}  // namespace nccl_substitute

using namespace nccl_substitute;

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return ncclInvalidArgument;
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

char const* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    default:
      return "unknown result code";
  }
}

// The error of the communicator if it has failed, else of any call.
char const* ncclGetLastError(ncclComm_t comm) {
  static thread_local std::string words;
  communicator_ptr const c = find(comm);
  words = c ? c->traffic.words() : "";
  if (words.empty()) words = words_of_last_refusal();
  return words.c_str();
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (ncclResult_t const code = injected("ncclCommFinalize"); code != ncclSuccess) return code;
  communicator_ptr const c = find(comm);
  if (!c) return refuse(ncclInvalidArgument, "there is no such communicator");
  return waited_for(*c) ? ncclSuccess : refuse(ncclSystemError, "operations do not end");
}

// Operations that still run are waited for, and ended if they do not end.
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  ncclResult_t const code = injected("ncclCommDestroy");
  if (comm == nullptr) return code;
  communicator_ptr const c = taken(comm);
  if (!c) return refuse(ncclInvalidArgument, "there is no such communicator");
  if (waited_for(*c)) {
    c->traffic.say_farewell();
    return code;
  }
  c->traffic.abort();
  return refuse(ncclSystemError, "operations did not end");
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  ncclResult_t const code = injected("ncclCommAbort");
  if (comm == nullptr) return code;
  communicator_ptr const c = taken(comm);
  if (!c) return refuse(ncclInvalidArgument, "there is no such communicator");
  c->traffic.abort();
  return code;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  if (ncclResult_t const code = injected("ncclCommGetAsyncError"); code != ncclSuccess) return code;
  communicator_ptr const c = find(comm);
  if (!c || error == nullptr) return refuse(ncclInvalidArgument, "there is no such communicator");
  c->traffic.look();
  *error = c->traffic.error();
  return ncclSuccess;
}

namespace {

template <class Ask>
ncclResult_t ask(char const* name, ncclComm_t comm, int* answer, Ask question) {
  if (ncclResult_t const code = injected(name); code != ncclSuccess) return code;
  communicator_ptr const c = find(comm);
  if (!c || answer == nullptr) return refuse(ncclInvalidArgument, "there is no such communicator");
  *answer = question(*c);
  return ncclSuccess;
}

}  // namespace

ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
  return ask("ncclCommCount", comm, count, [](communicator const& c) { return c.size(); });
}

ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device) {
  return ask("ncclCommCuDevice", comm, device, [](communicator const& c) { return c.device; });
}

ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  return ask("ncclCommUserRank", comm, rank, [](communicator const& c) { return c.rank; });
}
