#include <ashlar/core/algorithm.hpp>
#include <ashlar/plan/training/device_kind.hpp>

#include <cstddef>

namespace ashlar {

device_kind slowest(device_kind a, device_kind const& b) {
  if (b.constants.products / b.machine.flops > a.constants.products / a.machine.flops) {
    a.constants.products = b.constants.products;
    a.machine.flops = b.machine.flops;
  }
  if (b.constants.exchange / b.machine.inside > a.constants.exchange / a.machine.inside) {
    a.constants.exchange = b.constants.exchange;
    a.machine.inside = b.machine.inside;
  }
  a.machine.between = min_of(a.machine.between, b.machine.between);
  a.machine.memory = min_of(a.machine.memory, b.machine.memory);
  a.machine.node_size = min_of(a.machine.node_size, b.machine.node_size);
  return a;
}

std::vector<std::vector<int>> orders_of_kinds(int kind_count) {
  std::vector<std::vector<int>> all;
  for (int k = 0; k < kind_count; ++k) all.push_back(std::vector<int>(1, k));
  for (std::size_t i = 0; i < all.size(); ++i)
    for (int k = 0; k < kind_count; ++k) {
      std::vector<int> longer = all[i];
      bool has = false;
      for (int each : longer) has = has || each == k;
      longer.push_back(k);
      if (!has) all.push_back(longer);
    }
  return all;
}

}  // namespace ashlar
