// Errors: their names, the last one of each thread, and those that a device keeps.
#include "machine.hpp"

namespace cuda_substitute {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

std::mutex faults_mutex;
std::vector<std::string> all_faults;

// The error that the device of this thread keeps, else the last error of this thread.
cudaError_t present_error() {
  machine& m = the_machine();
  std::lock_guard const lock(m.mutex);
  auto const number = static_cast<std::size_t>(current_device());
  if (number < m.devices.size() && m.devices[number]->error != cudaSuccess)
    return m.devices[number]->error;
  return last_error;
}

}  // namespace

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

void fail(device_state& device, cudaError_t error, std::string words) {
  cudaError_t none = cudaSuccess;
  device.error.compare_exchange_strong(none, error, std::memory_order_relaxed);
  std::lock_guard const lock(faults_mutex);
  all_faults.push_back(std::move(words));
}

std::vector<std::string> faults() {
  std::lock_guard const lock(faults_mutex);
  return all_faults;
}

void forget_faults() {
  last_error = cudaSuccess;
  std::lock_guard const lock(faults_mutex);
  all_faults.clear();
}

}  // namespace cuda_substitute

using namespace cuda_substitute;

cudaError_t cudaPeekAtLastError() { return present_error(); }

cudaError_t cudaGetLastError() {
  cudaError_t const error = present_error();
  last_error = cudaSuccess;
  return error;
}

char const* cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define ASHLAR_CUDA_NAME(name, value, text) \
  case name:                                \
    return #name;
    ASHLAR_CUDA_ERRORS(ASHLAR_CUDA_NAME)
#undef ASHLAR_CUDA_NAME
  }
  return "unrecognized error code";
}

char const* cudaGetErrorString(cudaError_t error) {
  switch (error) {
#define ASHLAR_CUDA_TEXT(name, value, text) \
  case name:                                \
    return text;
    ASHLAR_CUDA_ERRORS(ASHLAR_CUDA_TEXT)
#undef ASHLAR_CUDA_TEXT
  }
  return "unrecognized error code";
}
