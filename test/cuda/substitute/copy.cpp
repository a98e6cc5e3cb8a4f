// Copies and fills. Every range must lie in memory that is allocated where the call says.
#include "graph.hpp"
#include "machine.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>

namespace cuda_substitute {
namespace {

struct range {
  bool on_device, page_locked;
  device_ptr device;
};

range locate(machine const& m, void const* address, std::size_t bytes) {
  allocation const* const a = m.find(address, bytes);
  if (a == nullptr) return {false, false, nullptr};
  return {static_cast<bool>(a->device), !a->device, a->device};
}

bool fits(cudaMemcpyKind kind, range const& to, range const& from) {
  if (kind == cudaMemcpyDefault) return true;
  bool const to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  bool const from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  return to.on_device == to_device && from.on_device == from_device;
}

// As on a GPU, memory that is not page-locked is read before the call returns, and written before it
// returns.
// A word that lies at a word's place is written at once: the host may look at it meanwhile.
void move_bytes(void* to, void const* from, std::size_t bytes) {
  auto const lies_well = [](void const* p) {
    return reinterpret_cast<std::uintptr_t>(p) % sizeof(std::uint32_t) == 0;
  };
  if (bytes == sizeof(std::uint32_t) && lies_well(to) && lies_well(from))
    std::atomic_ref(*static_cast<std::uint32_t*>(to))
        .store(*static_cast<std::uint32_t const*>(from), std::memory_order_relaxed);
  else
    std::memmove(to, from, bytes);
}

cudaError_t copy(machine& m, std::unique_lock<std::mutex>& lock, CUstream_st& s, void* to,
                 void const* from, std::size_t bytes, range const& target, range const& source) {
  operation o{.kind = work::device, .name = "a copy", .device = s.device};
  bool const pageable_source = !source.on_device && !source.page_locked;
  bool const pageable_target = !target.on_device && !target.page_locked;
  if (pageable_source && !s.capturing) {
    auto const* const first = static_cast<std::byte const*>(from);
    o.body = [to, staged = std::vector<std::byte>(first, first + bytes)] {
      std::memcpy(to, staged.data(), staged.size());
    };
  } else {
    o.body = [to, from, bytes] { move_bytes(to, from, bytes); };
  }
  bool const waits = pageable_target && !s.capturing;
  ticket_ptr const done = o.done;
  device_ptr const device = s.device;
  submit(m, s, std::move(o));
  return waits ? wait_for({done}, *device, lock) : cudaSuccess;
}

cudaError_t copy_as(cudaMemcpyKind kind, machine& m, std::unique_lock<std::mutex>& lock, CUstream_st& s,
                    void* to, void const* from, std::size_t bytes) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (bytes == 0) return cudaSuccess;
  if (to == nullptr || from == nullptr) return cudaErrorInvalidValue;
  range const target = locate(m, to, bytes), source = locate(m, from, bytes);
  if (!fits(kind, target, source)) return cudaErrorInvalidValue;
  return copy(m, lock, s, to, from, bytes, target, source);
}

cudaError_t fill(machine& m, CUstream_st& s, void* memory, int value, std::size_t bytes) {
  if (bytes == 0) return cudaSuccess;
  if (memory == nullptr || !locate(m, memory, bytes).on_device) return cudaErrorInvalidValue;
  submit(m, s,
         {.kind = work::device, .name = "a fill", .device = s.device, .body = [memory, value, bytes] {
            std::memset(memory, value, bytes);
          }});
  return cudaSuccess;
}

}  // namespace
}  // namespace cuda_substitute

using namespace cuda_substitute;

cudaError_t cudaMemcpy(void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind) {
  return call("cudaMemcpy", [&](machine& m, auto& lock) {
    require_no_capture(m);
    CUstream_st& s = m.at(cudaStream_t{});
    if (cudaError_t const e = copy_as(kind, m, lock, s, to, from, bytes); e != cudaSuccess) return e;
    return s.last ? wait_for({s.last}, *s.device, lock) : cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return call("cudaMemcpyAsync", [&](machine& m, auto& lock) {
    return copy_as(kind, m, lock, m.at(stream), to, from, bytes);
  });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, void const* from, int from_device,
                                std::size_t bytes, cudaStream_t stream) {
  return call("cudaMemcpyPeerAsync", [&](machine& m, auto& lock) {
    CUstream_st& s = m.at(stream);
    device_ptr const reached = m.device(to_device), left = m.device(from_device);
    if (bytes == 0) return cudaSuccess;
    range const target = locate(m, to, bytes), source = locate(m, from, bytes);
    if (target.device != reached || source.device != left) return cudaErrorInvalidValue;
    return copy(m, lock, s, to, from, bytes, target, source);
  });
}

cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  return call("cudaMemset", [&](machine& m, auto&) {
    require_no_capture(m);
    return fill(m, m.at(cudaStream_t{}), memory, value, bytes);
  });
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  return call("cudaMemsetAsync",
              [&](machine& m, auto&) { return fill(m, m.at(stream), memory, value, bytes); });
}
