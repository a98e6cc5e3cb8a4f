// Memory of devices and page-locked memory.
//
// Device memory lies in pages of its own. Where the settings say so the host cannot touch them from the
// end of a call that waited, or asked and was told that all is done, to the next operation; while one is
// under way it can, and that goes unnoticed. Freed device memory can never be touched again, and its
// addresses are not handed out again. Device memory that was not written is not a number.
#include "machine.hpp"
#include "sanitizers.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace cuda_substitute {
namespace {

// Whether device memory can be touched. Operations that end do not take the lock.
std::mutex guard_mutex;
std::atomic<int> holds{0};
std::map<void*, std::size_t> guarded;  // pages of all live device memory
bool touchable = false;

std::uintptr_t number_of(void const* address) { return reinterpret_cast<std::uintptr_t>(address); }

std::size_t pages(std::size_t bytes) {
  auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

void protect(int how) {
  for (auto const& [address, bytes] : guarded) mprotect(address, bytes, how);
  touchable = how != PROT_NONE;
}

// Addresses of whole pages, and one page more that nobody may touch. Much memory lies in large pages
// where the host has them: then guarding it takes a fraction of the time. None: the host has no more.
void* take_addresses(std::size_t bytes) {
  constexpr std::size_t large_page = std::size_t{2} << 20;
  std::size_t const alignment = bytes < large_page ? pages(1) : large_page, all = bytes + pages(1);
  void* const taken =
      mmap(nullptr, all + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (taken == MAP_FAILED) return nullptr;
  std::size_t const before = (alignment - number_of(taken) % alignment) % alignment;
  auto* const memory = static_cast<std::byte*>(taken) + before;
  if (before > 0) munmap(taken, before);
  munmap(memory + all, alignment - before);
  if (bytes >= large_page) madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

void* map_device_memory(std::size_t bytes, bool guard) {
  std::size_t const mapped = pages(bytes);
  void* const memory = take_addresses(mapped);
  if (memory == nullptr) return nullptr;
  mprotect(memory, mapped, PROT_READ | PROT_WRITE);
  std::memset(memory, 0xff, bytes);
  ASAN_POISON_MEMORY_REGION(static_cast<char*>(memory) + bytes, mapped - bytes);
  if (!guard) return memory;
  std::lock_guard const lock(guard_mutex);
  guarded.emplace(memory, mapped);
  if (!touchable) mprotect(memory, mapped, PROT_NONE);
  return memory;
}

// The addresses stay taken, so that later uses of them are found.
void unmap_device_memory(void* memory, std::size_t bytes) {
  std::lock_guard const lock(guard_mutex);
  guarded.erase(memory);
  ASAN_UNPOISON_MEMORY_REGION(memory, pages(bytes));
  mmap(memory, pages(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void give_addresses_back(void* memory, std::size_t bytes) {
  std::lock_guard const lock(guard_mutex);
  guarded.erase(memory);
  ASAN_UNPOISON_MEMORY_REGION(memory, pages(bytes));
  munmap(memory, pages(bytes) + pages(1));
}

constexpr std::align_val_t host_alignment{256};

cudaError_t allocate_on_host(char const* name, void** memory, std::size_t bytes) {
  return call(name, [&](machine& m, auto&) {
    device_ptr const d = m.current();
    if (memory == nullptr) return cudaErrorInvalidValue;
    require_no_capture(m);
    *memory = nullptr;
    if (bytes == 0) return cudaSuccess;
    void* const made = ::operator new(bytes, host_alignment, std::nothrow);
    if (made == nullptr) return cudaErrorMemoryAllocation;
    m.memory.emplace(number_of(made), allocation{bytes, nullptr});
    *memory = made;
    return cudaSuccess;
  });
}

}  // namespace

void hold_memory() {
  std::lock_guard const lock(guard_mutex);
  holds.fetch_add(1, std::memory_order_relaxed);
  if (!touchable) protect(PROT_READ | PROT_WRITE);
}

void release_memory() { holds.fetch_sub(1, std::memory_order_relaxed); }

void guard_idle_memory() {
  std::lock_guard const lock(guard_mutex);
  if (touchable && holds.load(std::memory_order_relaxed) == 0) protect(PROT_NONE);
}

void forget_memory(machine& m) {
  // Memory of operations under way after a fault. They may still touch it: it is given back when a later
  // reset finds nothing under way. Never destroyed, so that it is no leak at the end either.
  struct memory_left {
    std::vector<std::pair<void*, std::size_t>> on_devices;
    std::vector<void*> on_host;
  };
  static memory_left& left = *new memory_left;
  for (auto const& [address, a] : m.memory) {
    auto* const memory = reinterpret_cast<void*>(address);
    if (a.device)
      left.on_devices.emplace_back(memory, a.bytes);
    else
      left.on_host.push_back(memory);
  }
  for (auto const& [address, bytes] : m.freed)
    left.on_devices.emplace_back(reinterpret_cast<void*>(address), bytes);
  left.on_host.insert(left.on_host.end(), m.freed_on_host.begin(), m.freed_on_host.end());
  m.memory.clear();
  m.freed.clear();
  m.freed_on_host.clear();

  guard_idle_memory();
  if (holds != 0) return;
  for (auto const& [memory, bytes] : left.on_devices) give_addresses_back(memory, bytes);
  for (void* memory : left.on_host) ::operator delete(memory, host_alignment);
  left = {};
}

allocation const* machine::find(void const* address, std::size_t bytes) const {
  auto const number = number_of(address);
  auto after = memory.upper_bound(number);
  if (after != memory.end() && after->first < number + bytes) throw refused{cudaErrorInvalidValue};
  if (auto stale = freed.upper_bound(number); stale != freed.begin()) {
    --stale;
    if (number < stale->first + stale->second) throw refused{cudaErrorInvalidValue};
  }
  if (after == memory.begin()) return nullptr;
  auto const& [start, a] = *--after;
  if (number >= start + a.bytes) return nullptr;
  if (bytes > a.bytes - (number - start)) throw refused{cudaErrorInvalidValue};
  return &a;
}

bool is_device_memory(void const* memory, std::size_t bytes) {
  return is_device_memory(memory, bytes, -1);
}

bool is_device_memory(void const* memory, std::size_t bytes, int device) {
  machine& m = the_machine();
  std::lock_guard const lock(m.mutex);
  try {
    allocation const* const a = m.find(memory, bytes);
    return a != nullptr && a->device && (device < 0 || a->device->number == device);
  } catch (refused const&) {
    return false;
  }
}

}  // namespace cuda_substitute

using namespace cuda_substitute;

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return call("cudaMemGetInfo", [&](machine& m, auto&) {
    *total = m.chosen.memory;
    *free = m.chosen.memory - m.current()->used;
    return cudaSuccess;
  });
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return call("cudaMalloc", [&](machine& m, auto&) {
    device_ptr const d = m.current();
    if (memory == nullptr) return cudaErrorInvalidValue;
    require_no_capture(m);
    *memory = nullptr;
    if (bytes == 0) return cudaSuccess;
    if (bytes > m.chosen.memory - d->used) return cudaErrorMemoryAllocation;
    void* const made = map_device_memory(bytes, m.chosen.guard);
    if (made == nullptr) return cudaErrorMemoryAllocation;
    m.memory.emplace(number_of(made), allocation{bytes, d});
    d->used += bytes;
    d->most = std::max(d->most, d->used);
    *memory = made;
    return cudaSuccess;
  });
}

// It waits, as on a GPU, for what the device has to do. If the device has failed it does not wait, as
// that may never end, and operations under way may go on with the memory.
cudaError_t cudaFree(void* memory) {
  auto const free = [&](machine& m, auto& lock) {
    if (memory == nullptr) return cudaSuccess;
    auto const found = m.memory.find(number_of(memory));
    if (found == m.memory.end() || !found->second.device) return cudaErrorInvalidValue;
    require_no_capture(m);
    allocation const a = found->second;
    if (a.device->error == cudaSuccess) wait_for(pending(m, *a.device), *a.device, lock);
    if (m.memory.erase(number_of(memory)) == 0) return cudaErrorInvalidValue;
    m.freed.emplace(number_of(memory), a.bytes);
    a.device->used -= a.bytes;
    if (a.device->error == cudaSuccess) unmap_device_memory(memory, a.bytes);
    return a.device->error.load();
  };
  return call("cudaFree", free, on_error::give_back_still);
}

cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  return allocate_on_host("cudaMallocHost", memory, bytes);
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  if (flags > cudaHostAllocPortable) return remember(cudaErrorInvalidValue);
  return allocate_on_host("cudaHostAlloc", memory, bytes);
}

// It waits as cudaFree does, for all devices.
cudaError_t cudaFreeHost(void* memory) {
  auto const free = [&](machine& m, auto& lock) {
    if (memory == nullptr) return cudaSuccess;
    auto const found = m.memory.find(number_of(memory));
    if (found == m.memory.end() || found->second.device) return cudaErrorInvalidValue;
    require_no_capture(m);
    bool idle = true;
    for (device_ptr const& d : std::vector(m.devices))
      idle = d->error == cudaSuccess && wait_for(pending(m, *d), *d, lock) == cudaSuccess && idle;
    if (m.memory.erase(number_of(memory)) == 0) return cudaErrorInvalidValue;
    if (idle)
      ::operator delete(memory, host_alignment);
    else
      m.freed_on_host.push_back(memory);
    return cudaSuccess;
  };
  return call("cudaFreeHost", free, on_error::give_back_still);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, void const* memory) {
  return call("cudaPointerGetAttributes", [&](machine& m, auto&) {
    device_ptr const d = m.current();
    allocation const* const a = m.find(memory, 1);
    auto* const address = const_cast<void*>(memory);
    if (a == nullptr)
      *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, address};
    else if (a->device)
      *attributes = {cudaMemoryTypeDevice, a->device->number, address, nullptr};
    else
      *attributes = {cudaMemoryTypeHost, d->number, address, address};
    return cudaSuccess;
  });
}
