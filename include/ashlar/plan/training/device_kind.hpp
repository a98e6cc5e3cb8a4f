// Devices of one kind, the speed of a group of several kinds, and the orders in which a pipeline may go
// through kinds.
#pragma once

#include <ashlar/plan/training/layout.hpp>

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
device_kind slowest(device_kind a, device_kind const& b);

// The link that messages and sums of gradients take: between nodes as soon as there are several.
inline double outer_link(training_layout const& l, device_machine const& machine) {
  return l.tensor * l.data * l.pipeline > machine.node_size ? machine.between : machine.inside;
}

// Every order of every choice of kinds, shorter ones first. With 4 kinds there are 64.
std::vector<std::vector<int>> orders_of_kinds(int kind_count);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/plan/training/device_kind.ipp>
#endif
