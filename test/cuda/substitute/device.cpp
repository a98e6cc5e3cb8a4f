// Devices: their number, their properties, and which of them a thread's calls go to.
#include "graph.hpp"
#include "machine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace cuda_substitute {
namespace {

thread_local int current = 0;

constexpr int sms = 4, capability_major = 9, capability_minor = 0;
constexpr int shared_memory = 48 << 10, shared_memory_opt_in = 227 << 10;

}  // namespace

int current_device() { return current; }
void make_current(int device) { current = device; }

device_ptr machine::device(int number) const {
  if (number < 0 || number >= static_cast<int>(devices.size())) throw refused{cudaErrorInvalidDevice};
  return devices[static_cast<std::size_t>(number)];
}

device_ptr machine::current() const {
  if (devices.empty()) throw refused{cudaErrorNoDevice};
  device_ptr d = device(current_device());
  if (d->error != cudaSuccess) throw refused{d->error};
  return d;
}

std::vector<ticket_ptr> pending(machine& m, device_state& device) {
  std::erase_if(device.left, [](ticket_ptr const& t) { return t->done(); });
  std::vector<ticket_ptr> all = device.left;
  if (device.legacy->last) all.push_back(device.legacy->last);
  for (cudaStream_t s : m.streams)
    if (s->device.get() == &device && s->last) all.push_back(s->last);
  return all;
}

cudaError_t wait_for(std::vector<ticket_ptr> const& tickets, device_state const& device,
                     std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  for (ticket_ptr const& t : tickets) t->wait();
  guard_idle_memory();
  cudaError_t const error = device.error;
  lock.lock();
  return error;
}

}  // namespace cuda_substitute

using namespace cuda_substitute;

cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  return call("cudaGetDeviceCount", [&](machine& m, auto&) {
    *count = static_cast<int>(m.devices.size());
    return m.devices.empty() ? cudaErrorNoDevice : cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return call("cudaSetDevice", [&](machine& m, auto&) {
    static_cast<void>(m.device(device));
    make_current(device);
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return call("cudaGetDevice", [&](machine& m, auto&) {
    if (m.devices.empty()) return cudaErrorNoDevice;
    *device = current_device();
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call("cudaGetDeviceProperties", [&](machine& m, auto&) {
    static_cast<void>(m.device(device));
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "substitute of a GPU");
    properties->totalGlobalMem = m.chosen.memory;
    properties->sharedMemPerBlock = shared_memory;
    properties->sharedMemPerBlockOptin = shared_memory_opt_in;
    properties->warpSize = 32;
    properties->maxThreadsPerBlock = 1024;
    properties->major = capability_major;
    properties->minor = capability_minor;
    properties->multiProcessorCount = sms;
    properties->pciBusID = device + 1;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return call("cudaDeviceGetAttribute", [&](machine& m, auto&) {
    static_cast<void>(m.device(device));
    switch (attribute) {
      case cudaDevAttrMaxThreadsPerBlock:
        *value = 1024;
        return cudaSuccess;
      case cudaDevAttrMaxSharedMemoryPerBlock:
        *value = shared_memory;
        return cudaSuccess;
      case cudaDevAttrWarpSize:
        *value = 32;
        return cudaSuccess;
      case cudaDevAttrMultiProcessorCount:
        *value = sms;
        return cudaSuccess;
      case cudaDevAttrComputeCapabilityMajor:
        *value = capability_major;
        return cudaSuccess;
      case cudaDevAttrComputeCapabilityMinor:
        *value = capability_minor;
        return cudaSuccess;
      case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = shared_memory_opt_in;
        return cudaSuccess;
    }
    return cudaErrorInvalidValue;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  return call("cudaDeviceGetPCIBusId", [&](machine& m, auto&) {
    static_cast<void>(m.device(device));
    char text[13];
    std::snprintf(text, sizeof text, "0000:%02X:00.0", static_cast<unsigned char>(device + 1));
    if (length < static_cast<int>(sizeof text)) return cudaErrorInvalidValue;
    std::memcpy(id, text, sizeof text);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return call("cudaDeviceCanAccessPeer", [&](machine& m, auto&) {
    static_cast<void>(m.device(device));
    static_cast<void>(m.device(peer));
    *can = device != peer;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return call("cudaDeviceEnablePeerAccess", [&](machine& m, auto&) {
    device_ptr const d = m.current();
    static_cast<void>(m.device(peer));
    if (flags != 0) return cudaErrorInvalidValue;
    if (peer == d->number) return cudaErrorPeerAccessUnsupported;
    return d->peers.insert(peer).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return call("cudaDeviceSynchronize", [](machine& m, auto& lock) {
    device_ptr const d = m.current();
    require_no_capture_on(m, *d);
    return wait_for(pending(m, *d), *d, lock);
  });
}

cudaError_t cudaFuncSetAttribute(void const* function, cudaFuncAttribute attribute, int value) {
  return call("cudaFuncSetAttribute", [&](machine& m, auto&) {
    if (function == nullptr || attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0
        || value > shared_memory_opt_in)
      return cudaErrorInvalidValue;
    m.largest_shared_memory = std::max(m.largest_shared_memory, value);
    return cudaSuccess;
  });
}
