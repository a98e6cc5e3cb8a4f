#include <ashlar/optimize/start_order.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"

#include <cstddef>
#include <vector>

using namespace shapes;

namespace {

constexpr std::vector<pass> of_device(pass_network const& net, pass_network::plan const& plan,
                                      std::size_t device) {
  std::vector<pass> found;
  for (int x : plan[device]) found.push_back(net.what[static_cast<std::size_t>(x)]);
  return found;
}

constexpr bool test_by_wish() {
  schedule const s = one_f_one_b(2, 3);
  pass_network const net(s, 100);
  auto const planned = [&](auto wish_of) {
    std::vector<tick> wish;
    for (pass const& x : net.what) wish.push_back(wish_of(x));
    return by_wish(net.orders, wish);
  };
  HOLDS(planned([](pass) { return tick{7}; }) == net.orders);  // no wish, no change

  pass_network::plan const late = planned([](pass x) { return tick{x.kind == B ? 1 : 0}; });
  HOLDS(of_device(net, late, 0)
        == std::vector<pass>{{F, 0, 0}, {F, 0, 1}, {F, 0, 2}, {B, 0, 0}, {B, 0, 1}, {B, 0, 2}});
  pass_network::plan const turned = planned([](pass x) { return tick{-x.micro_batch}; });
  HOLDS(of_device(net, turned, 1)
        == std::vector<pass>{{F, 1, 2}, {B, 1, 2}, {F, 1, 1}, {B, 1, 1}, {F, 1, 0}, {B, 1, 0}});
  return true;
}
BOTH_TIMES("sorted by wish, else as before", test_by_wish)

}  // namespace
