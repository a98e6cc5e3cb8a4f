// The check that a jump leads outwards does not know of other stacks.
#undef _FORTIFY_SOURCE
#include "fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

namespace cuda_substitute {
namespace {

constexpr std::size_t bytes_of_stack = std::size_t{256} << 10;  // sanitizers use much of it

}  // namespace

fiber::fiber() = default;

fiber::fiber(std::function<void()> main) : main_(std::move(main)), stack_bytes_(bytes_of_stack) {
  auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory = mmap(nullptr, stack_bytes_ + page, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, page, PROT_NONE);  // an overflow ends the program
  stack_ = static_cast<std::byte*>(memory) + page;
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_;
  context_.uc_stack.ss_size = stack_bytes_;
  auto const self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&context_, reinterpret_cast<void (*)()>(begin), 2, static_cast<unsigned>(self >> 32U),
              static_cast<unsigned>(self));
}

fiber::~fiber() {
  if (main_ == nullptr) return;
  auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  ASAN_UNPOISON_MEMORY_REGION(stack_, stack_bytes_);
  munmap(stack_ - page, stack_bytes_ + page);
}

void fiber::begin(unsigned high, unsigned low) {
  auto* self = reinterpret_cast<fiber*>((static_cast<std::uintptr_t>(high) << 32U) | low);
  self->arrive();
  self->main_();
}

void fiber::leave(fiber& next) {
  next.came_from_ = this;
#if defined(ASHLAR_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(&fake_stack_, next.stack_, next.stack_bytes_);
#endif
}

void fiber::arrive() {
#if defined(ASHLAR_ADDRESS_SANITIZER)
  void const* stack = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(fake_stack_, &stack, &bytes);
  if (came_from_->main_ == nullptr) {  // the host's thread: now its stack is known
    came_from_->stack_ = static_cast<std::byte*>(const_cast<void*>(stack));
    came_from_->stack_bytes_ = bytes;
  }
#endif
}

// Jumps do not ask the kernel for the signal mask, as contexts do: a switch takes a twentieth of the
// time.
void fiber::switch_to(fiber& next) {
  leave(next);
#if defined(ASHLAR_FIBERS_JUMP)
  if (_setjmp(place_) == 0) {
    if (next.begun_ || next.main_ == nullptr) _longjmp(next.place_, 1);
    next.begun_ = true;
    setcontext(&next.context_);
  }
#else
  swapcontext(&context_, &next.context_);
#endif
  arrive();
}

}  // namespace cuda_substitute
