// Launches of kernels.
#include "block.hpp"
#include "machine.hpp"

#include <cuda_grid.hpp>

#include <algorithm>
#include <climits>
#include <cstring>
#include <new>
#include <utility>

namespace ashlar::cuda::grid_detail {

constinit thread_local place here;

void wait_at_barrier(char const* file, int line) {
  cuda_substitute::this_threads_runner().wait_at_barrier(file, line);
}
void meet(char const* name, void* own, void (*act)(of_lanes const&), char const* file, int line) {
  cuda_substitute::this_threads_runner().meet(name, own, act, file, line);
}

void begin_copy(void* to, void const* from, std::size_t bytes) {
  cuda_substitute::this_threads_runner().begin_copy(to, from, bytes);
}

}  // namespace ashlar::cuda::grid_detail

void ashlar::cuda::await_copies() { cuda_substitute::this_threads_runner().await_copies(); }

namespace cuda_substitute {
namespace {

constexpr int most_threads = 1024, most_blocks_y_z = 65535;
constexpr std::size_t freely_shared = std::size_t{48} << 10;  // that needs no permission

// A block of exactly that many bytes, so that the address sanitizer finds accesses beyond it.
class shared_block {
 public:
  explicit shared_block(std::size_t bytes)
      : memory_(bytes > 0 ? ::operator new (bytes, std::align_val_t{16}) : nullptr), bytes_(bytes) {}
  shared_block(shared_block const&) = delete;
  shared_block& operator=(shared_block const&) = delete;
  ~shared_block() { ::operator delete (memory_, std::align_val_t{16}); }
  void* data() const { return memory_; }
  // Fills it with NaN, as nobody has written it yet.
  void forget() const {
    if (bytes_ > 0) std::memset(memory_, 0xff, bytes_);
  }

 private:
  void* memory_;
  std::size_t bytes_;
};

void run_grid(ashlar::cuda::grid_size blocks, int threads, std::size_t shared_bytes,
              std::function<void()> const& body) {
  random_bits& random = operation_random();
  block_runner& runner = this_threads_runner();
  shared_block const shared(shared_bytes);
  auto const x = static_cast<std::size_t>(blocks.x), y = static_cast<std::size_t>(blocks.y);
  std::vector<std::size_t> order(x * y * static_cast<std::size_t>(blocks.z));
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    std::swap(order[i], order[random.below(i + 1)]);
  }
  for (std::size_t b : order) {
    shared.forget();
    runner.run({.thread = 0,
                .threads = threads,
                .block_x = static_cast<int>(b % x),
                .block_y = static_cast<int>(b / x % y),
                .block_z = static_cast<int>(b / x / y),
                .blocks_x = blocks.x,
                .shared = shared.data()},
               body, random);
  }
}

bool can_be_launched(ashlar::cuda::grid_size blocks, int threads) {
  return blocks.x > 0 && blocks.y > 0 && blocks.z > 0 && blocks.y <= most_blocks_y_z
         && blocks.z <= most_blocks_y_z && threads > 0 && threads <= most_threads;
}

}  // namespace
}  // namespace cuda_substitute

cudaError_t ashlar::cuda::launch_grid(grid_size blocks, int threads, std::size_t shared_bytes,
                                      cudaStream_t stream, std::function<void()> body) {
  using namespace cuda_substitute;
  return call("cudaLaunchKernel", [&](machine& m, auto&) {
    CUstream_st& s = m.at(stream);
    if (s.device != m.current()) return cudaErrorInvalidResourceHandle;
    if (!can_be_launched(blocks, threads)) return cudaErrorInvalidValue;
    if (shared_bytes > std::max(freely_shared, static_cast<std::size_t>(m.largest_shared_memory)))
      return cudaErrorInvalidValue;
    submit(m, s,
           {.kind = work::device,
            .name = "a kernel",
            .device = s.device,
            .body = [=, kernel = std::move(body)] { run_grid(blocks, threads, shared_bytes, kernel); }});
    return cudaSuccess;
  });
}
