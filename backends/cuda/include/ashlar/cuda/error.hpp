// Failures of CUDA and NCCL: the call, its message, and the instruction that it was called for.
#pragma once

#include <ashlar/core/language.hpp>

#include <cuda_runtime.h>
#include <nccl.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace ashlar::cuda {

// A call that failed. `where` says the device and the instruction once the runtime knows them.
class error : public std::runtime_error {
 public:
  error(std::string call, std::string reason, std::string where = {})
      : std::runtime_error((where.empty() ? "" : where + ": ") + call + ": " + reason),
        call_(std::move(call)),
        reason_(std::move(reason)),
        where_(std::move(where)) {}

  std::string const& call() const { return call_; }
  std::string const& reason() const { return reason_; }
  std::string const& where() const { return where_; }
  error at(std::string where) const { return where_.empty() ? error(call_, reason_, where) : *this; }

 private:
  std::string call_, reason_, where_;
};

inline std::string reason_of(cudaError_t code) {
  return std::string(cudaGetErrorString(code)) + " (" + cudaGetErrorName(code) + ")";
}
inline std::string reason_of(ncclResult_t code) { return ncclGetErrorString(code); }

// Throws error unless the call succeeded.
inline void require(cudaError_t code, char const* call) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // an error that is not sticky is reported once
  throw error(call, reason_of(code));
}
inline void require(ncclResult_t code, char const* call) {
  if (code != ncclSuccess) throw error(call, reason_of(code));
}

}  // namespace ashlar::cuda

// Calls a function of CUDA or NCCL and throws ashlar::cuda::error with its name if it fails.
#define ASHLAR_CUDA(function, ...) ::ashlar::cuda::require(function(__VA_ARGS__), #function)
