// TCP between the processes of a job: nothing here waits longer than its deadline.
#pragma once

#include <ashlar/core/language.hpp>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace ashlar::cuda {

// The operating system's or the resolver's sentence.
class socket_error : public std::runtime_error {
 public:
  explicit socket_error(std::string const& what) : std::runtime_error(what) {}
  explicit socket_error(int code)
      : std::runtime_error(std::generic_category().message(code)), code_(code) {}
  // The value of errno; 0 if there is another reason.
  int code() const { return code_; }

 private:
  int code_ = 0;
};

using socket_clock = std::chrono::steady_clock;

// An open socket, which never blocks.
class tcp_socket {
 public:
  tcp_socket() = default;
  explicit tcp_socket(int number) : number_(number) {
    int const yes = 1;
    static_cast<void>(::fcntl(number, F_SETFL, ::fcntl(number, F_GETFL) | O_NONBLOCK));
    static_cast<void>(::setsockopt(number, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes));
  }
  tcp_socket(tcp_socket&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  tcp_socket& operator=(tcp_socket&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~tcp_socket() {
    if (number_ >= 0) static_cast<void>(::close(number_));
  }
  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

namespace socket_detail {

using addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// A null host: all interfaces of this machine. Throws socket_error.
inline addresses resolve(char const* host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (host == nullptr ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  int const code = ::getaddrinfo(host, std::to_string(port).c_str(), &hints, &found);
  if (code != 0) throw socket_error(std::string("it cannot be resolved: ") + ::gai_strerror(code));
  return {found, &::freeaddrinfo};
}

inline tcp_socket open(addrinfo const& a) {
  tcp_socket s(::socket(a.ai_family, a.ai_socktype | SOCK_CLOEXEC, a.ai_protocol));
  if (!s) throw socket_error(errno);
  return s;
}

inline void bind_and_listen(tcp_socket const& s, addrinfo const& a) {
  int const yes = 1, no = 0;
  // A job that starts again finds its port free at once.
  static_cast<void>(::setsockopt(s.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes));
  if (a.ai_family == AF_INET6)  // all interfaces are those of IPv4, too
    static_cast<void>(::setsockopt(s.number(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no));
  if (::bind(s.number(), a.ai_addr, a.ai_addrlen) != 0 || ::listen(s.number(), SOMAXCONN) != 0)
    throw socket_error(errno);
}

}  // namespace socket_detail

// Waits until the socket can be read (POLLIN) or written (POLLOUT); false: it is too late.
inline bool wait_for(tcp_socket const& s, short what, socket_clock::time_point end) {
  for (;;) {
    auto const left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - socket_clock::now()).count();
    pollfd one{s.number(), what, 0};
    int const ready = ::poll(&one, 1, static_cast<int>(std::clamp<long long>(left + 1, 0, 1000)));
    if (ready > 0) return true;
    if (socket_clock::now() >= end) return false;
  }
}

// Listens on all interfaces if `host` is null. Port 0: any free one. Throws socket_error.
inline tcp_socket listen_on(char const* host, int port) {
  auto const all = socket_detail::resolve(host, port);
  // IPv6 first: it takes both kinds.
  for (int const family : {AF_INET6, AF_INET})
    for (addrinfo const* a = all.get(); a != nullptr; a = a->ai_next)
      if (a->ai_family == family) try {
          tcp_socket s = socket_detail::open(*a);
          socket_detail::bind_and_listen(s, *a);
          return s;
        } catch (socket_error const& e) {
          if (e.code() != EAFNOSUPPORT && e.code() != EADDRNOTAVAIL) throw;
        }
  throw socket_error("no address of this machine");
}

inline int port_of(tcp_socket const& s) {
  sockaddr_storage a{};
  socklen_t size = sizeof a;
  std::array<char, 8> port{};
  if (::getsockname(s.number(), reinterpret_cast<sockaddr*>(&a), &size) != 0
      || ::getnameinfo(reinterpret_cast<sockaddr*>(&a), size, nullptr, 0, port.data(),
                       static_cast<socklen_t>(port.size()), NI_NUMERICSERV)
             != 0)
    throw socket_error(errno);
  return std::stoi(port.data());
}

// The numeric address at the other end.
inline std::string peer_of(tcp_socket const& s) {
  sockaddr_storage a{};
  socklen_t size = sizeof a;
  std::array<char, 64> host{};
  if (::getpeername(s.number(), reinterpret_cast<sockaddr*>(&a), &size) != 0
      || ::getnameinfo(reinterpret_cast<sockaddr*>(&a), size, host.data(),
                       static_cast<socklen_t>(host.size()), nullptr, 0, NI_NUMERICHOST)
             != 0)
    return "an unknown address";
  return host.data();
}

// A connection that has come in; empty if there is none.
inline tcp_socket accept_from(tcp_socket const& listener) {
  int const number = ::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC);
  return number < 0 ? tcp_socket() : tcp_socket(number);
}

namespace socket_detail {

// A connection to a free port of the same machine may by chance connect to itself.
inline bool meets_itself(tcp_socket const& s) {
  sockaddr_storage here{}, there{};
  socklen_t here_size = sizeof here, there_size = sizeof there;
  return ::getsockname(s.number(), reinterpret_cast<sockaddr*>(&here), &here_size) == 0
         && ::getpeername(s.number(), reinterpret_cast<sockaddr*>(&there), &there_size) == 0
         && here_size == there_size && std::memcmp(&here, &there, here_size) == 0;
}

inline tcp_socket connect_once(addrinfo const& a, socket_clock::time_point end) {
  tcp_socket s = open(a);
  int code = ::connect(s.number(), a.ai_addr, a.ai_addrlen) == 0 ? 0 : errno;
  if (code == EINPROGRESS) {
    if (!wait_for(s, POLLOUT, end)) throw socket_error(ETIMEDOUT);
    socklen_t size = sizeof code;
    static_cast<void>(::getsockopt(s.number(), SOL_SOCKET, SO_ERROR, &code, &size));
  }
  if (code == 0 && meets_itself(s)) code = ECONNREFUSED;
  if (code != 0) throw socket_error(code);
  return s;
}

}  // namespace socket_detail

// Tries each of the host's addresses once. Throws socket_error. The resolver has time limits of its own.
inline tcp_socket connect_to(char const* host, int port, socket_clock::time_point end) {
  auto const all = socket_detail::resolve(host, port);
  socket_error last("it has no address");
  for (addrinfo const* a = all.get(); a != nullptr; a = a->ai_next) try {
      return socket_detail::connect_once(*a, end);
    } catch (socket_error const& e) {
      last = e;
    }
  throw last;
}

enum class transfer { done, late, gone };

// How many bytes could be moved at once: 0 if none can be now, -1 if the other end has gone.
inline std::ptrdiff_t write_some(tcp_socket const& s, std::span<std::byte const> bytes) {
  std::ptrdiff_t const n = ::send(s.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (n >= 0) return n;
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
}
inline std::ptrdiff_t read_some(tcp_socket const& s, std::span<std::byte> bytes) {
  std::ptrdiff_t const n = ::recv(s.number(), bytes.data(), bytes.size(), 0);
  if (n > 0 || bytes.empty()) return n;
  return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? 0 : -1;
}

// The other end has closed, and nothing of it is left to read.
inline bool has_gone(tcp_socket const& s) {
  std::byte b{};
  std::ptrdiff_t const n = ::recv(s.number(), &b, 1, MSG_PEEK);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

inline transfer write_all(tcp_socket const& s, std::span<std::byte const> bytes,
                          socket_clock::time_point end) {
  while (!bytes.empty()) {
    std::ptrdiff_t const n = write_some(s, bytes);
    if (n < 0) return transfer::gone;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    if (n == 0 && !wait_for(s, POLLOUT, end)) return transfer::late;
  }
  return transfer::done;
}
inline transfer read_all(tcp_socket const& s, std::span<std::byte> bytes, socket_clock::time_point end) {
  while (!bytes.empty()) {
    std::ptrdiff_t const n = read_some(s, bytes);
    if (n < 0) return transfer::gone;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    if (n == 0 && !wait_for(s, POLLIN, end)) return transfer::late;
  }
  return transfer::done;
}

}  // namespace ashlar::cuda
