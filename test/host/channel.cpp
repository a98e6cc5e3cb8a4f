// A channel between two devices, by itself.
#include <ashlar/host/channel.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <span>
#include <stdexcept>

using namespace ashlar;
using namespace ashlar::host;

namespace {

template <std::size_t Size>
buffer bytes_of(std::array<char, Size>& a) {
  return std::as_writable_bytes(std::span(a));
}
message number(int k) { return {{pass_kind::forward, 0, k}, 1}; }

}  // namespace

TEST_CASE("host: a rendezvous lasts until both have come, in either order") {
  for (bool send_first : {true, false}) {
    progress source(2, nullptr), target(2, nullptr);
    channel c(0, 1, send_mode::rendezvous, 0, 4, 2);
    std::array<char, 4> from{'a', 'b', 'c', 'd'}, to{};
    auto const send = [&] { c.send(number(0), bytes_of(from), {&source, 0}); };
    auto const receive = [&] { c.receive(number(0), bytes_of(to), {&target, 1}); };
    send_first ? send() : receive();
    CHECK_FALSE(source.is_done(0));
    CHECK_FALSE(target.is_done(1));
    send_first ? receive() : send();
    CHECK(source.is_done(0));
    CHECK(target.is_done(1));
    CHECK(to == from);
    CHECK(source.changed.count() == 1);
  }
}

TEST_CASE("host: a buffered send is done while there is a free place, and the next when one gets free") {
  progress source(3, nullptr), target(3, nullptr);
  channel c(0, 1, send_mode::buffered, 2, 1, 3);
  std::array<char, 1> from{}, to{};
  for (int k = 0; k < 2; ++k) {
    from[0] = static_cast<char>('a' + k);
    c.send(number(k), bytes_of(from), {&source, k});
    CHECK(source.is_done(k));
  }
  std::array<char, 1> third{'c'};
  c.send(number(2), bytes_of(third), {&source, 2});
  CHECK_FALSE(source.is_done(2));
  for (int k = 0; k < 3; ++k) {
    c.receive(number(k), bytes_of(to), {&target, k});
    CHECK(to[0] == 'a' + k);
    CHECK(target.is_done(k));
    CHECK(source.is_done(2));
  }
  CHECK(source.moved() == 3);
}

TEST_CASE("host: a message that is not the expected one, or of another size, is refused") {
  std::array<char, 4> four{};
  std::array<char, 3> three{};
  progress source(1, nullptr), target(1, nullptr);
  for (auto mode : {send_mode::rendezvous, send_mode::buffered}) {
    channel size(0, 1, mode, 1, 4, 1), what(0, 1, mode, 1, 4, 1);
    size.send(number(0), bytes_of(four), {&source, 0});
    CHECK_THROWS_WITH_AS(size.receive(number(0), bytes_of(three), {&target, 0}),
                         "mismatched transfer: device 0 sent 0F0 for stage 1 (4 bytes), device 1 was to "
                         "receive 0F0 for stage 1 (3 bytes)",
                         mismatched_transfer);
    what.receive(number(1), bytes_of(four), {&target, 0});
    CHECK_THROWS_AS(what.send(number(0), bytes_of(four), {&source, 0}), mismatched_transfer);
  }
}

TEST_CASE("host: a message that is larger than its place, or one too many, is refused") {
  std::array<char, 4> four{};
  progress source(1, nullptr);
  channel small(0, 1, send_mode::buffered, 1, 3, 1);
  CHECK_THROWS_AS(small.send(number(0), bytes_of(four), {&source, 0}), std::length_error);
  channel one(0, 1, send_mode::rendezvous, 1, 4, 1);
  one.send(number(0), bytes_of(four), {&source, 0});
  CHECK_THROWS_AS(one.send(number(1), bytes_of(four), {&source, 0}), std::logic_error);
}
