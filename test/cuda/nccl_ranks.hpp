// Ranks of an NCCL communicator as threads, each with a device of its own.
#pragma once

#include <ashlar/cuda/handles.hpp>

#include <nccl.h>
#include <nccl_substitute.hpp>
#include <substitute.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace nccl_tests {

inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

inline void new_machine(int devices, std::uint64_t seed = 1, std::size_t staging = 0) {
  cuda_substitute::reset({.devices = devices, .seed = seed, .delay = 200});
  nccl_substitute::reset({.staging = staging});
}

// doctest's checks are for the main thread.
inline void require_that(bool holds, char const* what = "not as expected") {
  if (!holds) throw std::logic_error(what);
}
inline void require_ok(ncclResult_t code) {
  if (code != ncclSuccess)
    throw std::runtime_error(std::string(ncclGetErrorString(code)) + ": " + ncclGetLastError(nullptr));
}
inline void require_ok(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code));
}

// One rank: its communicator, a stream, and how it moves its values.
struct rank {
  int me, size;
  ncclComm_t comm;
  cudaStream_t stream;

  template <class T>
  ashlar::cuda::device_memory put(std::vector<T> const& values) const {
    ashlar::cuda::device_memory m(values.size() * sizeof(T));
    if (!values.empty())
      require_ok(cudaMemcpy(m.data(), values.data(), m.size(), cudaMemcpyHostToDevice));
    return m;
  }
  template <class T>
  std::vector<T> get(ashlar::cuda::device_memory const& m) const {
    std::vector<T> values(m.size() / sizeof(T));
    wait();
    if (!values.empty())
      require_ok(cudaMemcpy(values.data(), m.data(), m.size(), cudaMemcpyDeviceToHost));
    return values;
  }
  void wait() const { require_ok(cudaStreamSynchronize(stream)); }
  // Until the library has noticed something; what that is.
  ncclResult_t noticed() const {
    for (;;) {
      ncclResult_t code = ncclSuccess;
      require_ok(ncclCommGetAsyncError(comm, &code));
      if (code != ncclSuccess) return code;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  bool idle() const { return cudaStreamQuery(stream) == cudaSuccess; }
  // The communicator is given back now.
  void abort() {
    require_ok(ncclCommAbort(comm));
    comm = nullptr;
  }
};

// Calls body(rank&) on so many threads; what each of them threw, empty if nothing.
template <class Body>
std::vector<std::string> on_ranks(int size, Body body) {
  std::vector<std::string> said(at(size));
  std::vector<std::thread> threads;
  ncclUniqueId id;
  require_ok(ncclGetUniqueId(&id));
  for (int r = 0; r < size; ++r)
    threads.emplace_back([&, r] {
      try {
        require_ok(cudaSetDevice(r));
        rank me{r, size, nullptr, nullptr};
        require_ok(ncclCommInitRank(&me.comm, size, id, r));
        auto const stream = ashlar::cuda::stream::make();
        me.stream = stream.get();
        body(me);
        require_ok(cudaStreamSynchronize(me.stream));
        if (me.comm != nullptr) require_ok(ncclCommDestroy(me.comm));
      } catch (std::exception const& e) {
        said[at(r)] = e.what();
      }
    });
  for (std::thread& t : threads) t.join();
  return said;
}

inline std::vector<std::string> all_quiet(int size) { return std::vector<std::string>(at(size)); }

}  // namespace nccl_tests
