// Devices of one kind, the speed of a group of several kinds, and the orders in which a pipeline may go
// through kinds.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/plan/layout.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Figures of one device, from its data sheet.
struct device_machine {
  double flops = 0;    // a second, of products in the model's precision
  double inside = 0;   // bytes a second in each direction to devices of its node
  double between = 0;  // to other nodes
  double memory = 0;   // bytes
  int node_size = 8;
};

// How far from the data sheet: seconds for each second at its figures. 1: at peak.
struct step_constants {
  double products = 1;  // of matrices
  double exchange = 1;  // between tensor ranks, with all that moves as many bytes in memory
};

// So many devices alike.
struct device_kind {
  device_machine machine;
  step_constants constants;
  int count = 1;
};

// The slower of both in each figure: what ranks of two kinds that wait for each other are as fast as. It
// holds what the smaller holds.
constexpr device_kind slowest(device_kind a, device_kind const& b) {
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

// The link that messages and sums of gradients take: between nodes as soon as there are several.
constexpr double outer_link(training_layout const& l, device_machine const& machine) {
  return l.tensor * l.data * l.pipeline > machine.node_size ? machine.between : machine.inside;
}

// Every order of every choice of kinds, shorter ones first. With 4 kinds there are 64.
constexpr std::vector<std::vector<int>> orders_of_kinds(int kind_count) {
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
