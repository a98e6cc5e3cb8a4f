// Threads as the ranks of a rendezvous.
#pragma once

#include <ashlar/cuda/rendezvous.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace rendezvous_tests {

inline constexpr std::chrono::milliseconds short_time{500}, long_time{60'000};

inline std::size_t at(int i) { return static_cast<std::size_t>(i); }
inline bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}
inline std::span<std::byte const> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
inline std::string text_in(std::vector<std::byte> const& b) {
  std::string text;
  for (std::byte const one : b) text += static_cast<char>(one);
  return text;
}
// doctest's checks are for the main thread.
inline void require_that(bool holds) {
  if (!holds) throw std::logic_error("not as expected");
}

// A gate that is opened once; waiting threads go on then.
class gate {
 public:
  void open() {
    std::lock_guard const lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

inline std::shared_ptr<void> opener(gate& g, bool opens) {
  return {nullptr, [&g, opens](void*) {
            if (opens) g.open();
          }};
}

struct cast {
  std::string address = "127.0.0.1";
  std::vector<int> absent = {};
  std::map<int, int> renamed = {}, sizes = {};  // those who come with another rank or world size
  std::chrono::milliseconds deadline = long_time;
};

// Calls body(rendezvous&) on all ranks; returns what each of them threw, empty if nothing.
template <class Body>
std::vector<std::string> on_ranks(int size, cast const& who, Body body) {
  std::promise<int> port;
  std::shared_future<int> const known = port.get_future().share();
  std::vector<std::string> said(at(size));
  std::vector<std::thread> ranks;
  auto const comes = [&who](int r) {
    return std::find(who.absent.begin(), who.absent.end(), r) == who.absent.end();
  };
  if (!comes(0) || size == 1) {  // nobody listens there
    ashlar::cuda::tcp_socket const free = ashlar::cuda::listen_on(who.address.c_str(), 0);
    port.set_value(ashlar::cuda::port_of(free));
  }
  for (int r = 0; r < size; ++r)
    if (comes(r))
      ranks.emplace_back([&, r] {
        try {
          ashlar::cuda::launch_place place{r, size, r, who.address, 0};
          if (who.renamed.contains(r)) place.rank = who.renamed.at(r);
          if (who.sizes.contains(r)) place.size = who.sizes.at(r);
          if (r != 0) place.port = known.get();
          ashlar::cuda::rendezvous met(place, who.deadline, [&port](int p) { port.set_value(p); });
          body(met);
        } catch (std::exception const& e) {
          said[at(r)] = e.what();
        }
      });
  for (std::thread& t : ranks) t.join();
  return said;
}

}  // namespace rendezvous_tests
