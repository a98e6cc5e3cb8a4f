// Runs independent tasks on threads.
#pragma once

#include <ashlar/core/function_ref.hpp>

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

namespace ashlar::host {

// That many threads, the caller's among them. A task may itself run tasks: they get the threads that
// have nothing to do by then. Copies share their threads.
class task_threads {
 public:
  // Takes one for each core by default.
  explicit task_threads(int count = static_cast<int>(std::thread::hardware_concurrency()))
      : idle_(std::make_shared<std::atomic<int>>(count > 1 ? count - 1 : 0)) {}

  // Runs f(0) ... f(n - 1), in any order and several at a time. Returns when all are done; rethrows the
  // exception of the first f(i) that threw.
  void operator()(std::size_t n, function_ref<void(std::size_t)> f) const {
    std::atomic<std::size_t> next{0};
    std::vector<std::exception_ptr> thrown(n);
    auto const work = [&] {
      for (std::size_t i = next++; i < n; i = next++) {
        try {
          f(i);
        } catch (...) {
          thrown[i] = std::current_exception();
        }
      }
    };
    {
      std::vector<std::jthread> others;
      others.reserve(n);
      while (others.size() + 1 < n && take_thread()) {
        try {
          others.emplace_back([&] {
            work();
            ++*idle_;
          });
        } catch (std::system_error const&) {  // the system has no more: existing ones do it
          break;
        }
      }
      work();
    }
    for (std::exception_ptr const& e : thrown)
      if (e) std::rethrow_exception(e);
  }

 private:
  bool take_thread() const {
    int idle = idle_->load();
    while (idle > 0 && !idle_->compare_exchange_weak(idle, idle - 1)) {
    }
    return idle > 0;
  }

  std::shared_ptr<std::atomic<int>> idle_;
};

}  // namespace ashlar::host
