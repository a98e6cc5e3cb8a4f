#include "rendezvous_ranks.hpp"
#include <ashlar/cuda/rendezvous.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace rendezvous_tests {

using ashlar::cuda::socket_clock;
using ashlar::cuda::tcp_socket;

// The words of ranks 0 and 1 when `stranger(port)` has been at the port before rank 1 comes.
template <class Stranger>
std::vector<std::string> visited_by(Stranger stranger) {
  std::promise<int> port;
  std::vector<std::string> said(2);
  auto const meet = [&said](int rank, int at_port, std::function<void(int)> const& listening) {
    try {
      ashlar::cuda::rendezvous met({rank, 2, rank, "127.0.0.1", at_port}, long_time, listening);
      met.gather_all(bytes_of("here"));
    } catch (std::exception const& e) {
      said[at(rank)] = e.what();
    }
  };
  std::thread root([&] { meet(0, 0, [&port](int p) { port.set_value(p); }); });
  int const known = port.get_future().get();
  auto const stays = stranger(known);  // until all is over
  meet(1, known, {});
  root.join();
  return said;
}

tcp_socket stranger_at(int port, std::vector<std::byte> const& says) {
  auto const end = socket_clock::now() + long_time;
  tcp_socket s = ashlar::cuda::connect_to("127.0.0.1", port, end);
  static_cast<void>(ashlar::cuda::write_all(s, says, end));
  return s;
}

template <class T>
std::vector<std::byte> raw(T const& value) {
  std::vector<std::byte> b(sizeof value);
  std::memcpy(b.data(), &value, sizeof value);
  return b;
}

TEST_CASE("rendezvous: strangers disturb nobody") {
  using namespace ashlar::cuda::rendezvous_detail;
  std::vector<std::vector<std::byte>> sayings{{}};
  auto const web = bytes_of("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  sayings.emplace_back(web.begin(), web.end());
  sayings.push_back(std::vector<std::byte>(100'000, std::byte{0xff}));
  // These are the right beginning, then nothing; too long; not a hello; a hello of no bytes.
  sayings.push_back(raw(frame_head{.kind = frame_kind::hello, .bytes = sizeof(hello)}));
  sayings.push_back(raw(frame_head{.kind = frame_kind::hello, .bytes = 0xffff'ffffU}));
  sayings.push_back(raw(frame_head{.kind = frame_kind::collection, .bytes = 0}));
  sayings.push_back(raw(frame_head{.kind = frame_kind::hello, .bytes = 0}));
  auto const said = visited_by([&sayings](int port) {
    std::vector<tcp_socket> all;
    for (auto const& s : sayings) {
      all.push_back(stranger_at(port, s));
      static_cast<void>(stranger_at(port, s));  // and one that hangs up
    }
    return all;
  });
  CHECK(said == std::vector<std::string>{"", ""});
}

TEST_CASE("rendezvous: a crowd of silent strangers disturbs nobody") {
  auto const said = visited_by([](int port) {
    std::vector<tcp_socket> all;
    for (int i = 0; i < 200; ++i) all.push_back(stranger_at(port, {}));
    return all;
  });
  CHECK(said == std::vector<std::string>{"", ""});
}

TEST_CASE("rendezvous: a silent stranger is sent away") {
  auto const said = visited_by([](int port) {
    tcp_socket s = stranger_at(port, {});
    std::vector<std::byte> answer(1);
    CHECK(ashlar::cuda::read_all(s, answer, socket_clock::now() + long_time)
          == ashlar::cuda::transfer::gone);
    return s;
  });
  CHECK(said == std::vector<std::string>{"", ""});
}

TEST_CASE("rendezvous: a rank of another version is named") {
  using namespace ashlar::cuda::rendezvous_detail;
  auto saying = raw(frame_head{.kind = frame_kind::hello, .bytes = sizeof(hello)});
  auto const h = raw(hello{.protocol = 9, .rank = 1, .size = 2});
  saying.insert(saying.end(), h.begin(), h.end());
  std::promise<int> port;
  std::string said;
  std::thread root([&] {
    try {
      ashlar::cuda::rendezvous({0, 2, 0, "127.0.0.1", 0}, long_time,
                               [&port](int p) { port.set_value(p); });
    } catch (ashlar::cuda::rendezvous_failed const& e) {
      said = e.what();
    }
  });
  tcp_socket const other = stranger_at(port.get_future().get(), saying);
  root.join();
  CHECK(said
        == "rank 1 at 127.0.0.1 is of another version: its protocol has the number 9, that of rank 0 1");
}

TEST_CASE("rendezvous: what answers is not rank 0") {
  tcp_socket const listener = ashlar::cuda::listen_on("127.0.0.1", 0);
  std::thread other([&listener] {
    static_cast<void>(ashlar::cuda::wait_for(listener, POLLIN, socket_clock::now() + long_time));
    tcp_socket const s = ashlar::cuda::accept_from(listener);
    using namespace ashlar::cuda::rendezvous_detail;
    std::vector<std::byte> greeting(sizeof(frame_head) + sizeof(hello));
    static_cast<void>(ashlar::cuda::read_all(s, greeting, socket_clock::now() + long_time));
    auto const text = bytes_of("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n");
    static_cast<void>(ashlar::cuda::write_all(s, text, socket_clock::now() + long_time));
    static_cast<void>(ashlar::cuda::read_all(s, greeting, socket_clock::now() + long_time));
  });
  CHECK_THROWS_WITH_AS(
      ashlar::cuda::rendezvous({1, 2, 0, "127.0.0.1", ashlar::cuda::port_of(listener)}, long_time),
      "what answers is not rank 0", ashlar::cuda::rendezvous_failed);
  other.join();
}

}  // namespace rendezvous_tests
