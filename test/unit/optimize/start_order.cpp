#include <ashlar/optimize/start_order.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

using namespace shapes;

namespace {

std::vector<pass> of_device(precedence_graph const& net, precedence_graph::device_orders const& orders,
                            std::size_t device) {
  std::vector<pass> found;
  for (int x : orders[device]) found.push_back(net.what[static_cast<std::size_t>(x)]);
  return found;
}

TEST_CASE("sorted by target start, else as before") {
  schedule const s = one_f_one_b(2, 3);
  precedence_graph const net(s, chunk_activations(100).memory);
  auto const ordered = [&](auto target_of) {
    std::vector<tick> targets;
    for (pass const& x : net.what) targets.push_back(target_of(x));
    return in_start_order(net.orders, targets);
  };
  CHECK(ordered([](pass) { return tick{7}; }) == net.orders);  // no other target, no change

  precedence_graph::device_orders const late = ordered([](pass x) { return tick{x.kind == B ? 1 : 0}; });
  CHECK(of_device(net, late, 0)
        == std::vector<pass>{{F, 0, 0}, {F, 0, 1}, {F, 0, 2}, {B, 0, 0}, {B, 0, 1}, {B, 0, 2}});
  precedence_graph::device_orders const turned = ordered([](pass x) { return tick{-x.micro_batch}; });
  CHECK(of_device(net, turned, 1)
        == std::vector<pass>{{F, 1, 2}, {B, 1, 2}, {F, 1, 1}, {B, 1, 1}, {F, 1, 0}, {B, 1, 0}});
}

}  // namespace
