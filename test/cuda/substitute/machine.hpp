// The machine that the substitute pretends to be: its devices and all objects on them.
#pragma once

#include "substitute.hpp"
#include "work_queue.hpp"

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace cuda_substitute {

struct node;
struct capture;

struct device_state {
  int number = 0;
  std::atomic<cudaError_t> error{cudaSuccess};  // it stays
  std::size_t used = 0, most = 0;               // bytes
  std::set<int> peers;
  cudaStream_t legacy = nullptr;  // the stream that a null handle means
  std::vector<ticket_ptr> left;   // the last of streams that were destroyed
};
using device_ptr = std::shared_ptr<device_state>;

// An allocation on a device, or page-locked on the host.
struct allocation {
  std::size_t bytes = 0;
  device_ptr device;  // none: the host
};

// A call ends with that error.
struct refused {
  cudaError_t error;
};

struct machine {
  std::mutex mutex;  // of all that follows; no operation takes it
  settings chosen;
  std::vector<device_ptr> devices;
  std::set<cudaStream_t> streams;
  std::set<cudaEvent_t> events;
  std::set<cudaGraph_t> graphs;
  std::set<cudaGraphExec_t> executables;
  std::map<std::uintptr_t, allocation> memory;
  std::map<std::uintptr_t, std::size_t> freed;  // device memory: never handed out again
  std::vector<void*> freed_on_host;             // that a device that has failed may still use
  std::set<std::shared_ptr<capture>> captures;  // those that have not ended
  int largest_shared_memory = 0;                // that a kernel was allowed

  // Each throws refused if there is no such object, or if its device has failed.
  device_ptr device(int number) const;
  device_ptr current() const;
  CUstream_st& at(cudaStream_t stream) const;
  CUevent_st& at(cudaEvent_t event) const;

  // The allocation that holds all those bytes; none: memory that CUDA knows nothing of. Throws refused
  // if they are partly or no longer allocated.
  allocation const* find(void const* address, std::size_t bytes) const;
};
machine& the_machine();

int current_device();
void make_current(int device);

// The device fails: `words` say why.
void fail(device_state& device, cudaError_t error, std::string words);

// Called at the end of every call.
cudaError_t remember(cudaError_t error);

enum class on_error { nothing, give_back_still };

// Makes a call of the runtime: counted, refused in a host function, on a failed device, or by choice of
// the test. `body` gets the machine and its lock.
template <class Body>
cudaError_t call(char const* name, Body body, on_error then = on_error::nothing) {
  auto run = [&] {
    machine& m = the_machine();
    std::unique_lock lock(m.mutex);
    try {
      return body(m, lock);
    } catch (refused const& r) {
      return r.error;
    }
  };
  if (in_host_function()) return remember(cudaErrorNotPermitted);
  if (cudaError_t const chosen = injected(name); chosen != cudaSuccess) {
    if (then == on_error::give_back_still) run();
    return remember(chosen);
  }
  return remember(run());
}

// Device memory can be touched from the first `hold` to a `guard` after the last `release`.
void hold_memory();
void release_memory();
void guard_idle_memory();

// Resets memory for a new machine. Device memory is given back unless somebody holds it.
void forget_memory(machine& m);
void forget_graphs(machine& m);
void forget_faults();
void forget_ranges();
void forget_operations(int longest_delay);

// Adds the next operation of the stream, or a node of the graph that it captures. Throws refused.
void submit(machine& m, CUstream_st& stream, operation next);

// All operations that the device still has to do.
std::vector<ticket_ptr> pending(machine& m, device_state& device);
// Lets go of the lock for as long as it waits; then returns the device's error.
cudaError_t wait_for(std::vector<ticket_ptr> const& tickets, device_state const& device,
                     std::unique_lock<std::mutex>& lock);

// Refuses calls that a capture under way does not allow this thread: throws refused and the captures are
// invalid.
void require_no_capture(machine& m);

}  // namespace cuda_substitute

struct CUstream_st {
  cuda_substitute::device_ptr device;
  bool blocking = false;  // ordered with the legacy stream
  cuda_substitute::work_queue queue = {};
  cuda_substitute::ticket_ptr last = {};  // none: nothing was ever enqueued

  // The capture under way: what its next node comes after, and which of the capture's streams it is.
  std::shared_ptr<cuda_substitute::capture> capturing = {};
  std::vector<std::size_t> tips = {};
  std::size_t lane = 0;
};

struct CUevent_st {
  cuda_substitute::device_ptr device;
  bool timed = false;
  cuda_substitute::ticket_ptr last = {};  // none: never recorded

  // The capture of its last record: what a stream that waits for it comes after.
  std::shared_ptr<cuda_substitute::capture> captured = {};
  std::vector<std::size_t> tips = {};
};
