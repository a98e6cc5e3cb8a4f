// One block of a grid: its threads run in random order, and wait for each other at barriers, and
// for their warp at shuffles and products.
#pragma once

#include "fiber.hpp"
#include "work_queue.hpp"

#include <cuda_grid.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cuda_substitute {

// Runs blocks, one after another, on this thread of the host. It keeps its fibers from block to block. A
// thread that waits nowhere costs a call: the fiber that ran it takes the next.
class block_runner {
 public:
  block_runner() = default;

  // Runs `body` once per thread of the block at `where`. Throws what a thread throws, and
  // std::runtime_error if threads wait for others that never come.
  void run(ashlar::cuda::grid_detail::place const& where, std::function<void()> const& body,
           random_bits& random);

  // Called by the thread that runs.
  void wait_at_barrier(char const* file, int line);
  void meet(char const* name, void* own, void (*act)(ashlar::cuda::grid_detail::of_lanes const&),
            char const* file, int line);
  void begin_copy(void* to, void const* from, std::size_t bytes);
  void await_copies();

 private:
  enum class state { ready, at_barrier, at_meeting, ended };
  struct copy {
    void* to;
    void const* from;  // none: zeros
    std::size_t bytes;
  };
  struct lane {
    state now = state::ready;
    fiber* on = nullptr;    // none: not begun
    char const* name = "";  // of what it waits at
    char const* file = "";
    int line = 0;
    void* own = nullptr;
    void (*act)(ashlar::cuda::grid_detail::of_lanes const&) = nullptr;
    std::vector<copy> copies{};
  };

  static constexpr int nobody = -1;

  void take_turns(fiber& self);
  void run_thread();
  int take_ready();
  void switch_from(fiber& self);
  void wait(state what, char const* name, char const* file, int line);
  void act_if_all_came(int warp);
  void release_barrier();
  bool same_place(lane const& a, lane const& b) const;
  std::string describe(int thread) const;
  [[noreturn]] void throw_stuck() const;

  std::function<void()> const* body_ = nullptr;
  random_bits* random_ = nullptr;
  std::vector<lane> lanes_;
  std::vector<int> ready_, came_to_meeting_;  // threads; how many per warp
  int alive_ = 0, running_ = nobody;
  std::exception_ptr thrown_;

  fiber host_;
  std::vector<std::unique_ptr<fiber>> fibers_;
  std::vector<fiber*> idle_;
};

// The runner of this thread of the host.
block_runner& this_threads_runner();

}  // namespace cuda_substitute
