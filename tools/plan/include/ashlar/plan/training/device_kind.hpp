// Devices of one kind, the speed of a group of several kinds, and the possible orders of kinds in a
// pipeline.
#pragma once

#include <ashlar/plan/training/layout.hpp>

#include <vector>

namespace ashlar {

// Figures of one device, from its data sheet.
struct device_machine {
  double flops = 0;    // per second, of products in the model's precision
  double inside = 0;   // bytes a second in each direction to devices of its node
  double between = 0;  // to other nodes
  double memory = 0;   // bytes
  int node_size = 8;
};

// Factors on the data sheet: actual seconds per second at its figures. 1: at peak.
struct step_constants {
  double products = 1;  // of matrices
  double exchange = 1;  // between tensor ranks, including memory traffic in proportion
};

// Identical devices.
struct device_kind {
  device_machine machine;
  step_constants constants;
  int count = 1;
};

// The slower of both in each figure: the speed of ranks of two kinds that wait for each other. The
// memory is the smaller one.
device_kind slowest(device_kind a, device_kind const& b);

// The link that messages and sums of gradients take: between nodes if the devices exceed one.
inline double outer_link(training_layout const& l, device_machine const& machine) {
  return l.tensor * l.data * l.pipeline > machine.node_size ? machine.between : machine.inside;
}

// Returns every order of every subset of kinds, shorter ones first. 4 kinds have 64.
std::vector<std::vector<int>> orders_of_kinds(int kind_count);

}  // namespace ashlar
