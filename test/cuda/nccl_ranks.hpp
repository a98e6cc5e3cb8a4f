// Ranks of an NCCL communicator as threads, each with a device of its own.
#pragma once

#include <ashlar/cuda/handles.hpp>

#include <nccl.h>
#include <nccl_substitute.hpp>
#include <substitute.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
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

// Device memory that its rank keeps.
struct array {
  std::byte* memory;
  std::size_t bytes;
  std::byte* data() const { return memory; }
  std::size_t size() const { return bytes; }
};

// One rank: its communicator, a stream, and how it moves its values.
struct rank {
  int me, size;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  std::deque<ashlar::cuda::device_memory> kept{};

  template <class T>
  array put(std::vector<T> const& values) {
    ashlar::cuda::device_memory const& m = kept.emplace_back(values.size() * sizeof(T));
    if (!values.empty())
      require_ok(cudaMemcpy(m.data(), values.data(), m.size(), cudaMemcpyHostToDevice));
    return {m.data(), m.size()};
  }
  template <class T>
  std::vector<T> get(array const& m) const {
    std::vector<T> values(m.size() / sizeof(T));
    wait();
    if (!values.empty())
      require_ok(cudaMemcpy(values.data(), m.data(), m.size(), cudaMemcpyDeviceToHost));
    return values;
  }
  void wait() const { require_ok(cudaStreamSynchronize(stream)); }
  // Waits until the library has noticed an error, and returns it.
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

// Calls body(rank&) on `size` threads; returns what each of them threw, empty if nothing.
template <class Body>
std::vector<std::string> on_ranks(int size, Body body) {
  std::vector<std::string> said(at(size));
  std::vector<std::thread> threads;
  ncclUniqueId id;
  require_ok(ncclGetUniqueId(&id));
  for (int r = 0; r < size; ++r)
    threads.emplace_back([&, r] {
      rank me{.me = r, .size = size};
      try {
        require_ok(cudaSetDevice(r));
        require_ok(ncclCommInitRank(&me.comm, size, id, r));
        auto const stream = ashlar::cuda::stream::make();
        me.stream = stream.get();
        body(me);
        require_ok(cudaStreamSynchronize(me.stream));
        if (me.comm != nullptr) require_ok(ncclCommDestroy(me.comm));
      } catch (std::exception const& e) {
        said[at(r)] = e.what();
        // Nobody waits for a rank that has failed; its memory is free once nothing is under way.
        if (me.comm != nullptr) static_cast<void>(ncclCommAbort(me.comm));
      }
    });
  for (std::thread& t : threads) t.join();
  return said;
}

inline std::vector<std::string> all_quiet(int size) { return std::vector<std::string>(at(size)); }

}  // namespace nccl_tests
