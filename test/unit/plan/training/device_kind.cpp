#include <ashlar/plan/training/device_kind.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

using namespace ashlar;

namespace {

TEST_CASE("device kinds: ranks of two are as fast as the slower") {
  device_kind const a{{.flops = 4, .inside = 9, .between = 3, .memory = 10, .node_size = 8}, {1, 1}, 16},
      b{{.flops = 6, .inside = 8, .between = 5, .memory = 7, .node_size = 4}, {2, 0.5}, 8};
  for (device_kind const& both : {slowest(a, b), slowest(b, a)}) {
    // Products of b take 2 / 6 of a second, of a 1 / 4; exchange 0.5 / 8 and 1 / 9.
    CHECK((both.machine.flops == 6 && both.constants.products == 2));
    CHECK((both.machine.inside == 9 && both.constants.exchange == 1));
    CHECK((both.machine.between == 3 && both.machine.memory == 7 && both.machine.node_size == 4));
  }
}

TEST_CASE("device kinds: in every order, alone and together") {
  CHECK(orders_of_kinds(1) == std::vector<std::vector<int>>{{0}});
  CHECK(orders_of_kinds(2) == std::vector<std::vector<int>>{{0}, {1}, {0, 1}, {1, 0}});
  CHECK(orders_of_kinds(3).size() == 3 + 6 + 6);
  CHECK(orders_of_kinds(4).size() == 4 + 12 + 24 + 24);
}

TEST_CASE("device kinds: links leave a node as soon as there are several") {
  device_machine const m{.inside = 4, .between = 1, .node_size = 4};
  CHECK(outer_link({.tensor = 2, .pipeline = 2}, m) == 4);
  CHECK(outer_link({.tensor = 2, .pipeline = 2, .data = 2}, m) == 1);
}

}  // namespace
