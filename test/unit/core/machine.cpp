#include <ashlar/core/machine.hpp>
// The header above comes first: it needs nothing before it.
#include "violations.hpp"

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

TEST_CASE("shares of times that cannot be counted are no shorter than they are") {
  CHECK((proportional(0, 7, 3) == 0 && proportional(9, 7, 3) == 21 && proportional(10, 7, 3) == 24));
  CHECK(proportional(max_tick, 2, 1) == max_tick);
  // The product of 5 and this time is out of range, so 5 / 7 of it is all of it.
  CHECK(proportional(5, max_tick / 2, 7) == max_tick / 2);
  CHECK(proportional(12, max_tick / 4, 7) == max_tick / 4 * 2);
}

TEST_CASE("times at a speed are rounded up") {
  CHECK((at_speed(10, 100) == 10 && at_speed(10, 50) == 20 && at_speed(10, 200) == 5));
  CHECK((at_speed(10, 30) == 34 && at_speed(9, 30) == 30));  // 33.3 ticks take 34
  CHECK((at_speed(1, 1000) == 1 && at_speed(0, 3) == 0));
  CHECK((at_speed(max_tick, 100) == max_tick && at_speed(max_tick, 200) == max_tick / 2 + 1));
  CHECK((at_speed(max_tick, 99) == max_tick && at_speed(max_tick / 100, 1) == max_tick / 100 * 100));
  CHECK(at_speed(max_tick, 1) == max_tick);
}

TEST_CASE("passes on devices of different speeds") {
  machine const m{.speeds = {100, 50}};
  stage_cost const c{.forward = 3, .backward_input = 4, .backward_weight = 5};
  CHECK((m.time_of(c, pass_kind::forward, 0) == 3 && m.time_of(c, pass_kind::backward, 1) == 18));
  CHECK((m.time_of(7, 0) == 7 && m.time_of(7, 1) == 14 && machine{}.time_of(7, 5) == 7));
}

TEST_CASE("links of nodes, of groups of nodes, and of two devices") {
  interconnect const links{.inside = {1},
                           .between = {2},
                           .node_size = 2,
                           .wider = {{4, {3}}, {8, {4}}},
                           .exceptions = {{0, 1, {9}}}};
  auto const latency = [&](int from, int to) { return links.link(from, to).latency; };
  CHECK((latency(1, 0) == 1 && latency(6, 7) == 1));
  CHECK((latency(1, 2) == 2 && latency(7, 5) == 2));
  CHECK((latency(3, 4) == 3 && latency(0, 7) == 3));
  CHECK((latency(7, 8) == 4 && latency(15, 0) == 4));
  CHECK(latency(0, 1) == 9);                                            // in this direction alone
  CHECK(interconnect{.wider = {{0, {3}}}}.link(0, 1) == link_speed{});  // groups of none
}

TEST_CASE("a link that is late") {
  interconnect links{.inside = {5, 3}, .between = {5, 3}};
  delay_link(links, 1, 0, 2);
  CHECK((links.link(1, 0) == link_speed{7, 3} && links.link(0, 1) == link_speed{5, 3}));
  CHECK_BREAKS(no_duration_is_negative, delay_link(links, 1, 0, -1));
  delay_link(links, 1, 0, max_tick);
  CHECK((links.link(1, 0).latency == max_tick && links.exceptions.size() == 1));
}

TEST_CASE("a link that is late by nothing is as it was") {
  interconnect links{.inside = {3}};
  delay_link(links, 0, 1, 0);
  CHECK((links.link(0, 1).latency == 3 && links.link(1, 0).latency == 3));
}

TEST_CASE("a machine from its other end") {
  machine const m{.links = {.inside = {1}, .exceptions = {{0, 2, {9}}}}, .speeds = {100, 50, 25}};
  machine const turned = mirrored(m, 3);
  CHECK((turned.speeds == std::vector<int>{25, 50, 100} && turned.links.link(2, 0).latency == 9));
  CHECK((turned.links.link(0, 2).latency == 1 && mirrored(turned, 3) == m));
  // Numbers of no device stay.
  machine const odd{.links = {.exceptions = {{-1, 3, {9}}}}};
  CHECK(mirrored(odd, 3) == odd);
}

TEST_CASE("each kind of link is visited once") {
  interconnect links{.wider = {{4, {}}, {8, {}}}, .exceptions = {{0, 1, {}}}};
  tick latency = 0;
  for_each_link(links, [&](link_speed& l) { l.latency = ++latency; });
  CHECK(latency == 5);
  interconnect const& same = links;
  tick sum = 0;
  for_each_link(same, [&](link_speed const& l) { sum += l.latency; });
  CHECK((sum == 15 && links.inside.latency == 1 && links.exceptions[0].speed.latency == 5));
}

// Exceptions with one end in common.
TEST_CASE("an exception is of one direction between two devices") {
  interconnect links{.inside = {1}, .exceptions = {{0, 1, {5}}, {2, 1, {7}}, {0, 2, {9}}}};
  CHECK(
      (links.link(0, 1).latency == 5 && links.link(2, 1).latency == 7 && links.link(0, 2).latency == 9));
  CHECK((links.link(1, 2).latency == 1 && links.link(1, 0).latency == 1));
  delay_link(links, 2, 1, 3);
  delay_link(links, 0, 2, 1);
  CHECK((links.link(0, 1).latency == 5 && links.link(2, 1).latency == 10
         && links.link(0, 2).latency == 10));
  CHECK(links.exceptions.size() == 3);
}

TEST_CASE("bytes take time on a link with a bandwidth alone") {
  link_speed const free{.latency = 2}, slow{.latency = 2, .bandwidth = 1},
      wide{.latency = 2, .bandwidth = 4};
  CHECK((free.byte_time(5) == 0 && free.time_of(5) == 2));
  CHECK((slow.byte_time(5) == 5 && slow.time_of(5) == 7 && slow.time_of(0) == 2));
  CHECK((wide.byte_time(8) == 2 && wide.byte_time(9) == 3 && wide.time_of(9) == 5));
  link_speed const thirds{.latency = 1, .bandwidth = 3, .period = 7};  // 3 bytes in 7 ticks
  CHECK((thirds.byte_time(0) == 0 && thirds.byte_time(1) == 3 && thirds.byte_time(3) == 7));
  CHECK((thirds.time_of(4) == 11 && thirds.time_of(6) == 15));
  CHECK(slow.time_of(max_tick) == max_tick);
  host_link const shared{.speed = wide, .shared_by = 2};
  CHECK((shared.time_of(8) == 6 && host_link{.speed = free, .shared_by = 2}.time_of(8) == 2));
}

TEST_CASE("first values: links of no time, whole devices, and one device for each host") {
  CHECK(link_speed{} == link_speed{0, 0, 1});
  CHECK(link_level{} == link_level{0, {}});
  CHECK(link_exception{} == link_exception{0, 0, {}});
  CHECK(interconnect{} == interconnect{{}, {}, 0, {}, {}});
  CHECK(host_link{} == host_link{{}, 1});
}

TEST_CASE("a link without a bandwidth takes its latency for any bytes") {
  link_speed const latency_only{.latency = 5};
  CHECK(
      (latency_only.time_of(0) == 5 && latency_only.time_of(99) == 5 && latency_only.byte_time(9) == 0));
  link_speed const l{.latency = 5, .bandwidth = 2};
  CHECK((l.time_of(0) == 5 && l.time_of(9) == 10 && l.byte_time(9) == 5));
}

}  // namespace
