// Indices out of range: a kernel that leaves its memory ends the process that runs it.
#include "substituted.hpp"
#include "truth.hpp"
#include <ashlar/cuda/launch.hpp>

#include <doctest/doctest.h>
#include <sanitizers.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#if !defined(ASHLAR_THREAD_SANITIZER)  // it allows no new threads in a process that was forked

using namespace ashlar;

namespace {

ASHLAR_KERNEL write_at(float* to, int index) { to[index] = 1; }
ASHLAR_KERNEL write_shared_at(int index) { cuda::shared_memory<float>()[index] = 1; }

template <class F>
bool survives(F const& work) {
  pid_t const child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    static_cast<void>(close(STDERR_FILENO));  // a sanitizer's report is expected
    cuda_substitute::reset();
    auto s = cuda::stream::make();
    work(s.get());
    _exit(cudaStreamSynchronize(s.get()) == cudaSuccess ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool survives_write(std::size_t bytes, int index) {
  return survives([=](cudaStream_t s) {
    void* memory = nullptr;
    ASHLAR_CUDA(cudaMalloc, &memory, bytes);
    cuda::launch(write_at, {}, 1, 0, s, static_cast<float*>(memory), index);
  });
}

bool survives_shared_write(std::size_t bytes, int index) {
  return survives([=](cudaStream_t s) { cuda::launch(write_shared_at, {}, 1, bytes, s, index); });
}

}  // namespace

TEST_CASE("cuda grid: whoever leaves device memory ends the process") {
  CHECK(survives_write(4096, 1023));
  CHECK_FALSE(survives_write(4096, 1024));
  CHECK(survives_shared_write(40, 9));
#if defined(ASHLAR_ADDRESS_SANITIZER)  // only it sees less than a page
  CHECK(survives_write(40, 9));
  CHECK_FALSE(survives_write(40, 10));
  CHECK_FALSE(survives_shared_write(40, 10));
  CHECK_FALSE(survives_shared_write(40, -1));
#endif
}
#endif
