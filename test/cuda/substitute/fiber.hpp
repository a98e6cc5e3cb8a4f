// Fibers: the threads of a block take turns on one thread of the host.
//
// To the thread sanitizer they are that thread: it compares kernels with each other, and what it says
// where the threads of one block were may be mixed up. To tell it of fibers takes twenty times as long.
#pragma once

#include "sanitizers.hpp"

#include <cstddef>
#include <functional>

#if !defined(ASHLAR_ADDRESS_SANITIZER) && !defined(ASHLAR_THREAD_SANITIZER)
#define ASHLAR_FIBERS_JUMP
#include <setjmp.h>
#endif
#include <ucontext.h>

namespace cuda_substitute {

// A stack and where to go on with it. The fiber of the host's thread has none of its own.
class fiber {
 public:
  fiber();                                     // the host's thread, for as long as the object lives
  explicit fiber(std::function<void()> main);  // begins with the first switch to it; never returns
  fiber(fiber const&) = delete;
  fiber& operator=(fiber const&) = delete;
  ~fiber();  // operations under way on its stack are dropped

  // This fiber is the one that runs now. It goes on when somebody switches to it.
  void switch_to(fiber& next);

 private:
  static void begin(unsigned high, unsigned low);
  void leave(fiber& next);
  void arrive();

  std::function<void()> main_;
  std::byte* stack_ = nullptr;
  std::size_t stack_bytes_ = 0;
  ucontext_t context_{};
#if defined(ASHLAR_FIBERS_JUMP)
  jmp_buf place_{};
  bool begun_ = false;
#endif
  [[maybe_unused]] void* fake_stack_ = nullptr;  // the address sanitizer's
  fiber* came_from_ = nullptr;
};

}  // namespace cuda_substitute
