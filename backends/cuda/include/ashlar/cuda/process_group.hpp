// The processes of a run, each with devices of its own, in one NCCL communicator.
#pragma once

#include <ashlar/cuda/handles.hpp>
#include <ashlar/cuda/options.hpp>
#include <ashlar/cuda/watchdog.hpp>

#include <nccl.h>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace ashlar::cuda {

// A communicator's end in this process.
class communicator {
 public:
  communicator() = default;
  explicit communicator(ncclComm_t handle) : handle_(handle) {}
  communicator(communicator&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  communicator& operator=(communicator&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~communicator() {
    if (handle_ != nullptr) static_cast<void>(ncclCommDestroy(handle_));
  }
  ncclComm_t get() const { return handle_; }
  // Ends what is under way. The others learn of it by an error, or at their deadline.
  void abort() {
    if (handle_ != nullptr) static_cast<void>(ncclCommAbort(std::exchange(handle_, nullptr)));
  }

 private:
  ncclComm_t handle_ = nullptr;
};

// NCCL's calls in act() start together. If act() throws, the group is ended all the same.
template <class Act>
void in_a_group(Act act) {
  ASHLAR_CUDA(ncclGroupStart);
  try {
    act();
  } catch (...) {
    static_cast<void>(ncclGroupEnd());
    throw;
  }
  ASHLAR_CUDA(ncclGroupEnd);
}

// The device of the run that a process drives, and its GPU. Devices are numbered rank after rank: rank ·
// devices + device.
struct local_device {
  int number = 0;
  int gpu = 0;
};

// The id that all processes make their communicator from. One process makes it, and the others receive
// it over MPI, cuda::rendezvous, or by another way of the launcher.
inline ncclUniqueId make_group_id() {
  ncclUniqueId id{};
  ASHLAR_CUDA(ncclGetUniqueId, &id);
  return id;
}

// One communicator for all: transfers, and the exchanges of sums. NCCL runs its calls in their order,
// which is an order of the whole program; so no two kernels of NCCL compete for multiprocessors that the
// other needs to end (docs/gpus.md).
class process_group {
 public:
  // All processes call it with the same id and size, each with its own devices. Throws error when NCCL
  // fails, and stalled when not all have come within the deadline; then the process should end.
  process_group(ncclUniqueId const& id, int size, std::vector<local_device> devices,
                std::chrono::milliseconds deadline = run_options{}.deadline)
      : size_(size), devices_(std::move(devices)) {
    if (devices_.empty()) throw std::invalid_argument("a process without devices");
    for (local_device const& d : devices_)
      if (d.number < 0 || d.number >= size)
        throw std::invalid_argument("there is no device " + std::to_string(d.number) + " among "
                                    + std::to_string(size));
    // Runs on a thread of its own, which is left behind if its call does not return: nothing can end
    // that.
    std::packaged_task<std::vector<communicator>()> make(
        [id, size, here = devices_] { return made(id, size, here); });
    std::future<std::vector<communicator>> all = make.get_future();
    std::thread(std::move(make)).detach();
    if (all.wait_for(deadline) != std::future_status::ready)
      throw stalled("the communicator of device " + std::to_string(devices_.front().number)
                    + " has not been made within " + std::to_string(deadline.count())
                    + " ms: not all of the " + std::to_string(size) + " devices have come");
    communicators_ = all.get();
  }

  int size() const { return size_; }
  std::vector<local_device> const& devices() const { return devices_; }
  // The communicator of the i-th of this process's devices; to be used in calls().
  ncclComm_t communicator_of(std::size_t i) const { return communicators_[i].get(); }

  // NCCL's calls in act() start together. Throws error when one fails, or if the communicators were
  // aborted before.
  template <class Act>
  void calls(Act act) {
    in_a_group([&] {
      std::lock_guard const lock(
          calling_);  // not while the group's end waits for others: an abort ends it
      if (communicators_.front().get() == nullptr)
        throw error("ncclGroupStart", "the communicator was aborted");
      act();
    });
  }
  // Calls act(), which calls NCCL and CUDA. Another thread calls look() meanwhile. If look() throws, the
  // communicators are aborted, which ends calls that wait for others, and the exception is thrown here.
  void guard(std::function<void()> const& act, std::function<void()> const& look) {
    watchdog_.guard(act, look, [this] { abort(); });
  }

  // Errors that NCCL has noticed since; empty if none.
  std::string failure() const {
    std::lock_guard const lock(calling_);
    for (communicator const& c : communicators_) {
      ncclResult_t code = ncclSuccess;
      if (c.get() == nullptr) return "the communicator was aborted";
      if (ncclResult_t const asked = ncclCommGetAsyncError(c.get(), &code); asked != ncclSuccess)
        return std::string("ncclCommGetAsyncError: ") + ncclGetErrorString(asked);
      if (code != ncclSuccess && code != ncclInProgress)
        return std::string("NCCL: ") + ncclGetErrorString(code);
    }
    return {};
  }
  void abort() {
    std::lock_guard const lock(calling_);
    for (communicator& c : communicators_) c.abort();
  }

  // The bytes of every device of the run, by number: `mine` has the same size everywhere. Called by all,
  // between steps. Throws stalled if a process does not come within the deadline.
  std::vector<std::byte> gather_all(std::vector<std::byte> const& mine,
                                    std::chrono::milliseconds deadline) {
    std::size_t const bytes = mine.size() * static_cast<std::size_t>(size_);
    on_gpu const here(devices_.front().gpu);
    pinned_memory sent(mine.size()), all(bytes);
    std::memcpy(sent.data(), mine.data(), mine.size());
    std::vector<device_memory> memory;
    std::vector<stream> streams;
    for (local_device const& d : devices_) {
      on_gpu const there(d.gpu);
      memory.emplace_back(bytes);
      streams.push_back(stream::make());
      ASHLAR_CUDA(cudaMemcpyAsync, memory.back().data() + place_of(d, mine), sent.data(), mine.size(),
                  cudaMemcpyHostToDevice, streams.back().get());
    }
    auto const look = [&, end = clock::now() + deadline] {
      if (std::string const why = failure(); !why.empty()) throw stalled(why);
      if (clock::now() >= end)
        throw stalled("not all processes have met within " + std::to_string(deadline.count()) + " ms");
    };
    auto const issue = [&] {
      calls([&] {
        for (std::size_t i = 0; i < devices_.size(); ++i)
          ASHLAR_CUDA(ncclAllGather, memory[i].data() + place_of(devices_[i], mine), memory[i].data(),
                      mine.size(), ncclUint8, communicator_of(i), streams[i].get());
      });
      ASHLAR_CUDA(cudaMemcpyAsync, all.data(), memory.front().data(), bytes, cudaMemcpyDeviceToHost,
                  streams.front().get());
    };
    try {
      guard(issue, look);
      for (stream const& s : streams) await(s, look);
    } catch (...) {
      abort();
      if (have_ended_by(clock::now() + std::chrono::seconds(2), streams)) throw;
      sent.leave();  // what may never end goes on using these
      all.leave();
      for (device_memory& m : memory) m.leave();
      for (stream& s : streams) static_cast<void>(s.release());
      throw;
    }
    return {all.data(), all.data() + bytes};
  }

 private:
  using clock = std::chrono::steady_clock;

  static std::vector<communicator> made(ncclUniqueId const& id, int size,
                                        std::vector<local_device> const& devices) {
    std::vector<ncclComm_t> handles(devices.size(), nullptr);
    in_a_group([&] {
      for (std::size_t i = 0; i < devices.size(); ++i) {
        on_gpu const here(devices[i].gpu);
        ASHLAR_CUDA(ncclCommInitRank, &handles[i], size, id, devices[i].number);
      }
    });
    return {handles.begin(), handles.end()};
  }
  static std::size_t place_of(local_device const& d, std::vector<std::byte> const& mine) {
    return mine.size() * static_cast<std::size_t>(d.number);
  }
  template <class Look>
  static void await(stream const& s, Look look) {
    for (;;) {
      cudaError_t const code = cudaStreamQuery(s.get());
      if (code == cudaSuccess) return;
      if (code != cudaErrorNotReady) require(code, "cudaStreamQuery");
      look();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  int size_;
  std::vector<local_device> devices_;
  std::vector<communicator> communicators_;
  mutable std::mutex calling_;  // held by who uses or gives back communicators
  watchdog watchdog_;
};

}  // namespace ashlar::cuda
