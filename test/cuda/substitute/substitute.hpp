// Settings by which a test steers the substitute of the CUDA runtime, and questions to it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cuda_substitute {

struct settings {
  int devices = 1;
  std::size_t memory = std::size_t{1} << 30;  // bytes per device; a program that does not reset() can be
                                              // given others by CUDA_SUBSTITUTE_MEMORY
  std::uint64_t seed = 0;                     // of delays, and of the order of blocks and threads
  int delay = 0;                              // before each operation at most, in microseconds
  bool guard = true;  // once it knows that all is done, the host cannot touch device memory
  bool list_calls = false;
};

// Makes the machine new, with as many devices as that, no errors, no injections. Live objects are
// forgotten, device memory is given back unless an operation is under way.
void reset(settings const& chosen = {});

// Draws other delays and other orders from here on.
void reseed(std::uint64_t seed);

// Calls that can fail, of the runtime and of the libraries that ask `injected`, since the last reset.
// Their names if the settings say so.
std::size_t call_count();
std::vector<std::string> calls();

// Operations (kernels, copies, host functions; waits and records are none) begun since the last reset.
std::size_t operation_count();

// The nth call from now on (0: the next) returns the error and does nothing. A call that gives something
// back gives it back all the same.
void fail_call(std::size_t nth, cudaError_t error);
// Does so for the calls of that name alone. The calls between them, and their number, may depend on the
// time.
void fail_call_of(std::string const& name, std::size_t nth, cudaError_t error);

// The nth operation from now on does not happen; from then on all calls to its device return the error.
void fail_operation(std::size_t nth, cudaError_t error);

// Counts and lists a call of another library; returns cudaSuccess unless it was chosen to fail.
cudaError_t injected(char const* call);

// The objects that were made and not given back.
struct live_objects {
  std::size_t streams = 0, events = 0, graphs = 0, executable_graphs = 0;
  std::size_t device_allocations = 0, device_bytes = 0, host_allocations = 0, host_bytes = 0;
  bool operator==(live_objects const&) const = default;
};
live_objects live();

// The most bytes that were allocated at once on the device since the last reset.
std::size_t most_device_bytes(int device);

// The reasons why devices failed, in words: what a kernel threw, which threads missed a barrier.
std::vector<std::string> faults();

// An operation of another library: at this place of the stream, or a node of the graph that the stream
// captures. It may block. What it throws makes the device fail.
cudaError_t enqueue(cudaStream_t stream, std::string name, std::function<void()> body);

// The device that the stream belongs to, or -1.
int device_of(cudaStream_t stream);

// Whether all the bytes lie within one live allocation of a device, or of that device.
bool is_device_memory(void const* memory, std::size_t bytes);
bool is_device_memory(void const* memory, std::size_t bytes, int device);

// Ranges pushed and not popped by this thread, and all the messages pushed by any thread.
int open_ranges();
std::vector<std::string> ranges();

}  // namespace cuda_substitute
